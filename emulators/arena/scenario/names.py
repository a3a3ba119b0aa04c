"""Names that belong to no theme: people and hosts."""

FIRST_NAMES = (
    "Ada", "Bilal", "Chidi", "Dagny", "Elif", "Farid", "Greta", "Hamza", "Ines", "Jonas", "Kaja", "Lior",
    "Mirela", "Nadia", "Oskar", "Priya", "Quentin", "Rosa", "Selma", "Tariq", "Ulrik", "Vera", "Wanda",
    "Ximena", "Yusuf", "Zofia", "Anneke", "Bruno", "Camille", "Dmitri", "Esther", "Fabio",
)  # fmt: skip
LAST_NAMES = (
    "Aalto", "Brandt", "Castellan", "Dorsey", "Eklund", "Falk", "Grimaldi", "Haugen", "Ilves", "Jansson",
    "Keller", "Lindqvist", "Moreau", "Novak", "Okafor", "Petrov", "Quist", "Ramires", "Sandvik", "Tanaka",
    "Ueland", "Vasquez", "Weiss", "Yilmaz", "Zeman", "Abara", "Bellini", "Corbin", "Dahl", "Engel",
)  # fmt: skip
HOST_WORDS = (
    "amber", "basalt", "cinder", "delta", "ember", "fennel", "garnet", "hazel", "indigo", "juniper", "kelp",
    "lumen", "marlin", "nectar", "onyx", "pebble", "quartz", "raven", "saffron", "tundra", "umbra", "velvet",
    "willow", "yarrow", "zephyr", "bramble", "copper", "drizzle", "flint", "gravel",
)  # fmt: skip
HOST_KINDS = ("cdn", "sync", "metrics", "relay", "files", "update", "mirror", "edge", "vault", "link")
HOST_ENDINGS = ("test", "invalid", "example")
