"""A stand-in model as a child process: ``python -m emulators.model`` (`emulators.server.ChildServer`)."""

from emulators.model.app import open_model
from emulators.model.options import ModelOptions
from emulators.server import serve_child

serve_child(lambda values: open_model(ModelOptions.of(values)))
