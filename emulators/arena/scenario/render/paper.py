"""Word-processor documents, as docx or odt.

A paragraph's number is its place among the non-empty paragraphs of the body (Harness Arena Task API v1,
"Submitting"). The table stands after all paragraphs: whether text in tables has a number is disputed
between readers, so nothing that is cited stands in or after one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from xml.sax.saxutils import escape

from emulators.arena.scenario.render.zipped import XML, pack

PaperFormat = Literal["docx", "odt"]


@dataclass(frozen=True)
class Paragraph:
    """One paragraph; an empty text is a spacer that has no number."""

    text: str
    style: Literal["heading", "body", "bullet"] = "body"


@dataclass(frozen=True)
class Paper:
    """A document: header and footer on every page, paragraphs, and a table at the end (rows of texts)."""

    title: str
    header: str
    footer: str
    paragraphs: tuple[Paragraph, ...]
    table: tuple[tuple[str, ...], ...] = ()

    def number(self, text: str) -> int:
        """The number of the first paragraph that contains ``text``. Raises ValueError where none does."""
        filled = [paragraph.text for paragraph in self.paragraphs if paragraph.text]
        for number, content in enumerate(filled, start=1):
            if text in content:
                return number
        raise ValueError(f"no paragraph contains {text!r}")


def write_paper(paper: Paper, form: PaperFormat) -> bytes:
    """The document as a file of that format."""
    return _docx(paper) if form == "docx" else _odt(paper)


_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
PACKAGE_TYPE = "application/vnd.openxmlformats-package"
_WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml"
_DOCX_STYLES = {"heading": "Heading1", "bullet": "ListParagraph", "body": "Normal"}


def _docx(paper: Paper) -> bytes:
    body = "".join(_docx_paragraph(paragraph.text, paragraph.style) for paragraph in paper.paragraphs)
    if paper.table:
        body += _docx_table(paper.table)
    section = (
        '<w:sectPr><w:headerReference w:type="default" r:id="rId2"/>'
        '<w:footerReference w:type="default" r:id="rId3"/><w:pgSz w:w="11906" w:h="16838"/></w:sectPr>'
    )
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="{key}"{extra}><w:name w:val="{name}"/></w:style>'
        for key, name, extra in (
            ("Normal", "Normal", ' w:default="1"'),
            ("Heading1", "heading 1", ""),
            ("ListParagraph", "List Paragraph", ""),
        )
    )
    relation = "".join(
        f'<Relationship Id="rId{number}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        for number, kind, target in (
            (1, "styles", "styles.xml"),
            (2, "header", "header1.xml"),
            (3, "footer", "footer1.xml"),
        )
    )
    overrides = "".join(
        f'<Override PartName="/word/{part}.xml" ContentType="{_WORD}.{kind}+xml"/>'
        for part, kind in (
            ("document", "document.main"),
            ("styles", "styles"),
            ("header1", "header"),
            ("footer1", "footer"),
        )
    )
    return pack(
        [
            (
                "[Content_Types].xml",
                f'{XML}<Types xmlns="{_PACKAGE}/content-types">'
                f'<Default Extension="rels" ContentType="{PACKAGE_TYPE}.relationships+xml"/>'
                f'<Default Extension="xml" ContentType="application/xml"/>{overrides}'
                '<Override PartName="/docProps/core.xml" '
                f'ContentType="{PACKAGE_TYPE}.core-properties+xml"/></Types>',
            ),
            (
                "_rels/.rels",
                f'{XML}<Relationships xmlns="{_PACKAGE}/relationships">'
                f'<Relationship Id="rId1" Type="{_OFFICE}/officeDocument" Target="word/document.xml"/>'
                f'<Relationship Id="rId2" Type="{_PACKAGE}/relationships/metadata/core-properties" '
                'Target="docProps/core.xml"/></Relationships>',
            ),
            (
                "word/document.xml",
                f"{XML}<w:document {_W} {_R}><w:body>{body}{section}</w:body></w:document>",
            ),
            ("word/styles.xml", f"{XML}<w:styles {_W}>{styles}</w:styles>"),
            ("word/header1.xml", f"{XML}<w:hdr {_W}>{_docx_paragraph(paper.header, 'body')}</w:hdr>"),
            ("word/footer1.xml", f"{XML}<w:ftr {_W}>{_docx_paragraph(paper.footer, 'body')}</w:ftr>"),
            (
                "word/_rels/document.xml.rels",
                f'{XML}<Relationships xmlns="{_PACKAGE}/relationships">{relation}</Relationships>',
            ),
            (
                "docProps/core.xml",
                f'{XML}<cp:coreProperties xmlns:cp="{_PACKAGE}/metadata/core-properties" '
                f'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{escape(paper.title)}</dc:title>'
                "</cp:coreProperties>",
            ),
        ]
    )


def _docx_table(table: tuple[tuple[str, ...], ...]) -> str:
    width = '<w:tcPr><w:tcW w:w="2400" w:type="dxa"/></w:tcPr>'
    rows = "".join(
        "<w:tr>" + "".join(f"<w:tc>{width}{_docx_paragraph(cell, 'body')}</w:tc>" for cell in row) + "</w:tr>"
        for row in table
    )
    grid = '<w:gridCol w:w="2400"/>' * len(table[0])
    properties = '<w:tblPr><w:tblW w:w="0" w:type="auto"/></w:tblPr>'
    return f"<w:tbl>{properties}<w:tblGrid>{grid}</w:tblGrid>{rows}</w:tbl>"


def _docx_paragraph(text: str, style: str) -> str:
    properties = f'<w:pPr><w:pStyle w:val="{_DOCX_STYLES[style]}"/></w:pPr>'
    if not text:
        return f"<w:p>{properties}</w:p>"
    # Two runs, as editors leave them: a reader that takes one run for the paragraph loses half of it.
    middle = len(text) // 2
    runs = "".join(
        f'<w:r><w:t xml:space="preserve">{escape(part)}</w:t></w:r>'
        for part in (text[:middle], text[middle:])
        if part
    )
    return f"<w:p>{properties}{runs}</w:p>"


_ODF = "urn:oasis:names:tc:opendocument:xmlns"
ODF_NAMESPACES = (
    f'xmlns:office="{_ODF}:office:1.0" xmlns:text="{_ODF}:text:1.0" xmlns:table="{_ODF}:table:1.0" '
    f'xmlns:style="{_ODF}:style:1.0" xmlns:of="{_ODF}:of:1.2" office:version="1.2"'
)


def _odt(paper: Paper) -> bytes:
    body = "".join(_odt_paragraph(paragraph) for paragraph in paper.paragraphs)
    if paper.table:
        opening, closing = (
            '<table:table-cell office:value-type="string"><text:p>',
            "</text:p></table:table-cell>",
        )
        rows = "".join(
            "<table:table-row>"
            + "".join(f"{opening}{escape(cell)}{closing}" for cell in row)
            + "</table:table-row>"
            for row in paper.table
        )
        columns = f'<table:table-column table:number-columns-repeated="{len(paper.table[0])}"/>'
        body += f'<table:table table:name="Table1">{columns}{rows}</table:table>'
    master = (
        '<office:automatic-styles><style:page-layout style:name="pm1"/></office:automatic-styles>'
        '<office:master-styles><style:master-page style:name="Standard" style:page-layout-name="pm1">'
        f"<style:header><text:p>{escape(paper.header)}</text:p></style:header>"
        f"<style:footer><text:p>{escape(paper.footer)}</text:p></style:footer>"
        "</style:master-page></office:master-styles>"
    )
    return odf_pack(
        "application/vnd.oasis.opendocument.text",
        f"<office:body><office:text>{body}</office:text></office:body>",
        master,
        paper.title,
    )


def _odt_paragraph(paragraph: Paragraph) -> str:
    text = escape(paragraph.text)
    if paragraph.style == "heading":
        return f'<text:h text:outline-level="1">{text}</text:h>'
    if paragraph.style == "bullet":
        return f"<text:list><text:list-item><text:p>{text}</text:p></text:list-item></text:list>"
    middle = paragraph.text.find(" ") + 1
    if middle and len(paragraph.text) > 60:
        first, rest = escape(paragraph.text[:middle]), escape(paragraph.text[middle:])
        return f"<text:p>{first}<text:span>{rest}</text:span></text:p>"
    return f"<text:p>{text}</text:p>"


def odf_pack(kind: str, content: str, styles: str, title: str) -> bytes:
    """An OpenDocument file: ``content`` is what follows the styles in content.xml."""
    parts = ("content.xml", "styles.xml", "meta.xml")
    entries = "".join(
        f'<manifest:file-entry manifest:full-path="{part}" manifest:media-type="text/xml"/>' for part in parts
    )
    return pack(
        [
            ("mimetype", kind),
            (
                "content.xml",
                f"{XML}<office:document-content {ODF_NAMESPACES}>{content}</office:document-content>",
            ),
            (
                "styles.xml",
                f"{XML}<office:document-styles {ODF_NAMESPACES}>{styles}</office:document-styles>",
            ),
            (
                "meta.xml",
                f'{XML}<office:document-meta {ODF_NAMESPACES} xmlns:dc="http://purl.org/dc/elements/1.1/">'
                f"<office:meta><dc:title>{escape(title)}</dc:title></office:meta></office:document-meta>",
            ),
            (
                "META-INF/manifest.xml",
                f'{XML}<manifest:manifest xmlns:manifest="{_ODF}:manifest:1.0" manifest:version="1.2">'
                f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{kind}"/>'
                f"{entries}</manifest:manifest>",
            ),
        ],
        stored=("mimetype",),
    )
