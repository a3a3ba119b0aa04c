"""The zip container of xlsx, docx, ods and odt, opened with care: bombs are refused before they unpack."""

from __future__ import annotations

import io
import posixpath
import zipfile

from lxml import etree

from shared.errors import Unreadable

MAX_UNPACKED = 100 * 2**20
"""Bytes of all members together. The largest honest office files unpack to a few tens of megabytes."""
MAX_MEMBERS = 10_000
MAX_RATIO = 200
"""Unpacked to packed size; from 10 MB on. Office XML packs up to about forty to one."""

Element = etree._Element


class Container:
    """A zip file's members, by name.

    Args:
        data: bytes of the file.
        needs: a member without which the file is not of its format.

    Raises:
        Unreadable: not a zip, encrypted, a zip bomb, or another format.
    """

    def __init__(self, data: bytes, needs: str) -> None:
        if data.startswith(b"\xd0\xcf\x11\xe0"):
            raise Unreadable("encrypted with a password, or an old binary office file")
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, ValueError, OSError) as error:
            raise Unreadable(f"not a zip file, or a truncated one: {error}") from None
        members = self._zip.infolist()
        unpacked = sum(member.file_size for member in members)
        if len(members) > MAX_MEMBERS:
            raise Unreadable(f"zip bomb: {len(members)} members, at most {MAX_MEMBERS} are read")
        if unpacked > MAX_UNPACKED or unpacked > max(10 * 2**20, MAX_RATIO * len(data)):
            raise Unreadable(f"zip bomb: {len(data)} bytes unpack to {unpacked}")
        self.names = [member.filename for member in members]
        if needs not in self.names:
            raise Unreadable(f"another kind of file than its name says: it has no {needs}")

    def read(self, name: str) -> bytes:
        """The bytes of a member.

        Raises:
            Unreadable: there is none, it is damaged or encrypted.
        """
        try:
            return self._zip.read(name)
        except KeyError:
            raise Unreadable(f"{name} is missing in it") from None
        except RuntimeError as error:  # zipfile's word for encrypted members
            raise Unreadable(f"{name} cannot be unpacked: {error}") from None
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - zlib, lzma and zipfile each have their own
            raise Unreadable(f"{name} is damaged: {error}") from None

    def xml(self, name: str) -> Element:
        """The root element of an XML member."""
        return parse_xml(self.read(name), name)

    def xml_or_none(self, name: str) -> Element | None:
        """The root element of an XML member that need not be there."""
        return self.xml(name) if name in self.names else None

    def relations(self, name: str) -> dict[str, tuple[str, str]]:
        """The relations of an OOXML part: id → (kind, name of the target part); external ones left out."""
        folder, base = posixpath.split(name)
        root = self.xml_or_none(f"{folder}/_rels/{base}.rels")
        result: dict[str, tuple[str, str]] = {}
        for relation in () if root is None else root:
            if not isinstance(relation.tag, str) or relation.get("TargetMode") == "External":
                continue
            target = relation.get("Target", "")
            path = target.lstrip("/") if target.startswith("/") else posixpath.join(folder, target)
            kind = relation.get("Type", "").rpartition("/")[2]
            result[relation.get("Id", "")] = (kind, posixpath.normpath(path))
        return result


def damaged_xml(error: etree.XMLSyntaxError, name: str) -> Unreadable:
    """What to say of XML that the parser gave up on."""
    if not error.lineno:  # libxml2 fails without a place and a word when it gets no more memory
        return Unreadable(f"needs more memory than a parser may have ({name})")
    bomb = "entity bomb: " if "entity" in str(error).lower() else ""
    return Unreadable(f"{bomb}{name} is damaged XML: {error}")


def parse_xml(data: bytes, name: str) -> Element:
    """The root element; entities are not expanded and nothing is fetched.

    Raises:
        Unreadable: damaged, or it declares entities of its own.
    """
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise damaged_xml(error, name) from None
    doctype = root.getroottree().docinfo.internalDTD
    if doctype is not None and list(doctype.iterentities()):  # type: ignore[union-attr]
        raise Unreadable(f"entity bomb: {name} declares XML entities")
    return root
