"""The pages of an index, from its catalog: the simple repository API as PEP 503, 592, 629, 691, 700, 714 and 792 have it."""

from __future__ import annotations

import html
import json
from urllib.parse import quote

from stackbuild.publishing.catalog import Catalog, CatalogFile, Project
from stackbuild.publishing.closure import InstallWords, NoClosureError, install_words
from stackbuild.publishing.variants import offered_lists, variants_lists

API_VERSION = "1.4"
NO_VERIFICATION = "no verification is known"
_STYLE = (
    ":root{color-scheme:light dark}"
    "body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem;overflow-wrap:anywhere}"
    "h1{line-height:1.2}ul{list-style:none;padding:0}li{border-top:1px solid #8886;padding:.75rem 0}small{display:block}"
    "pre{white-space:pre-wrap;font-size:.8rem;margin:.5rem 0 0;padding:.5rem;background:#8882}"
    "section li{border:0;padding:.1rem 0}summary{font-weight:bold}"
    ".yanked a{text-decoration:line-through}"
)


def _text(text: str) -> str:
    """A text of others, without what a terminal or the direction of writing obeys, as it stands in a page."""
    if not text.isprintable():
        text = "".join(char if char.isprintable() or char in "\n\t" else " " for char in text)
    return html.escape(text)


def pages(catalog: Catalog) -> dict[str, bytes]:
    """Every page by its path below the index: `index.html` and `index.json` of the root and of each project."""
    names = sorted(catalog.projects)
    root = {"meta": {"api-version": API_VERSION}, "projects": [{"name": name} for name in names]}
    rows = [_root_row(name, catalog.projects[name]) for name in names]
    texts = {
        "index.html": _page("Simple index", ["<h1>Simple index</h1>", "<ul>", *rows, "</ul>"]),
        "index.json": _json(root),
    }
    for name, project in catalog.projects.items():
        texts[f"{name}/index.html"] = project_page(name, catalog)
        texts[f"{name}/index.json"] = _json(_project_json(name, project))
        texts |= {f"{name}/{file}": data for file, data in variants_lists(project).items()}
    return texts


def _json(value: object) -> bytes:
    return json.dumps(value).encode()  # installers read it; an indent takes five times as long


def _project_json(name: str, project: Project) -> dict[str, object]:
    status = {"status": project.status, **({"reason": project.reason} if project.reason else {})}
    files = project.current_files
    return {
        "meta": {"api-version": API_VERSION},
        "name": name,
        "project-status": status,
        "versions": list(project.versions) if project.status != "quarantined" else [],
        "files": [
            *(_file_json(file) for file in files),
            *(_list_json(file, sha256) for file, sha256 in offered_lists(project, files)),
        ],
    }


def _file_json(file: CatalogFile) -> dict[str, object]:
    return {
        "filename": file.name,
        "url": quote(file.path),
        "hashes": {"sha256": file.sha256},
        "size": file.size,
        "upload-time": file.uploaded,
        **({"requires-python": file.requires_python} if file.requires_python else {}),
        "core-metadata": {"sha256": file.metadata_sha256},
        "_stackbuild-claim": file.claim or NO_VERIFICATION,
        **({"_stackbuild-gfx": list(file.usage.targets)} if file.usage.places else {}),
        "yanked": False if file.yanked is None else file.yanked or True,
    }


def _list_json(file: str, sha256: str) -> dict[str, object]:
    return {"filename": file, "url": quote(file), "hashes": {"sha256": sha256}, "yanked": False}


def _root_row(name: str, project: Project) -> str:
    files = project.current_files
    summary = _text(files[0].summary) if files else ""
    note = "" if project.status == "active" else f" ({project.status})"
    newest = f"<small>{_text(f'{files[0].version}, {files[0].usage.gfx}')}</small>" if files else ""
    return f'<li><a href="{name}/">{name}</a>{note}<small>{summary}</small>{newest}</li>'


def project_page(name: str, catalog: Catalog) -> bytes:
    """The page of a project that installers and people read."""
    project = catalog.projects[name]
    meta = [f'<meta name="pypi:project-status" content="{project.status}">']
    if project.reason:
        meta.append(f'<meta name="pypi:project-status-reason" content="{_text(project.reason)}">')
    files = project.current_files
    lines = [f"<h1>{_text(name)}</h1>"]
    if files and files[0].summary:
        lines.append(f"<p>{_text(files[0].summary)}</p>")
    if project.status != "active":
        lines.append(f"<p><strong>{project.status}</strong> {_text(project.reason)}</p>")
    lines += _use_lines(files)
    lists = [f'<li><a href="{quote(file)}#sha256={sha}">{file}</a></li>' for file, sha in offered_lists(project, files)]
    lines += ["<ul>", *(_file_row(name, file, catalog) for file in files), *lists, "</ul>"]
    return _page(name, lines, meta)


def _use_lines(files: tuple[CatalogFile, ...]) -> list[str]:
    """How the newest file is used that nobody took back, and what runs where: as its METADATA says."""
    current = next((file for file in files if file.yanked is None and not file.variant), None)
    if current is None or not current.usage.places:
        return []
    code = _text("\n".join(current.usage.code))
    places = "".join(f"<li>{_text(place)}</li>" for place in current.usage.places)
    title = f"<summary>Use of {_text(current.version)}, and what runs where</summary>"
    return [
        f"<section><details open>{title}{f'<pre>{code}</pre>' if code else ''}<ul>{places}</ul></details></section>"
    ]


def _file_row(project: str, file: CatalogFile, catalog: Catalog) -> str:
    python = f", Python {_text(file.requires_python)}" if file.requires_python else ""
    parts = [_anchor(file), f"<small>{_text(file.usage.gfx)}; {_size(file.size)}{python}</small>"]
    parts.append(f"<small>sha256 {file.sha256}</small>")
    parts.append(f"<small>{_text(file.claim or NO_VERIFICATION)}</small>")
    if file.variant:
        what = ", ".join(file.variant.lines) or "no property"
        parts.append(f"<small>variant {_text(file.variant.label)} (PEP 825): {_text(what)}</small>")
    if file.yanked is not None:
        parts.append(f"<small><strong>yanked</strong>: {_text(file.yanked or 'no reason was given')}</small>")
    if file.attached:
        kinds = ", ".join(one.name.removeprefix(f"{file.name}.") for one in file.attached)
        parts.append(f"<small>beside it: {_text(kinds)}</small>")
    words = _install_words(project, file, catalog)
    if words.requirements:
        parts.append(f"<pre>{_text(' '.join(['pip install', *words.requirements]))}</pre>")
    if words.from_default_index:
        names = _text(", ".join(words.from_default_index))
        parts.append(f"<small>pip takes from its default index: {names}</small>")
    row = "<li>" if file.yanked is None else '<li class="yanked">'
    return f"{row}{''.join(parts)}</li>"


def _install_words(project: str, file: CatalogFile, catalog: Catalog) -> InstallWords:
    """What the command names that installs that file, with what it requires of this index; nothing where none is shown."""
    if not catalog.url or file.yanked is not None or file.variant:
        return InstallWords()
    try:
        return install_words(catalog, {project: (file,)}, catalog.url)
    except NoClosureError:
        return InstallWords()


def _anchor(file: CatalogFile) -> str:
    core = f"sha256={file.metadata_sha256}"
    attributes = {
        "href": f"{quote(file.path)}#sha256={file.sha256}",
        **({"data-requires-python": file.requires_python} if file.requires_python else {}),
        "data-core-metadata": core,
        "data-dist-info-metadata": core,
        **({} if file.yanked is None else {"data-yanked": file.yanked}),
    }
    attributes_text = " ".join(f'{name}="{_text(value)}"' for name, value in attributes.items())
    return f"<a {attributes_text}>{_text(file.name)}</a>"


def _size(size: int) -> str:
    """Bytes for people, in powers of 1,000."""
    value, units = float(size), ["B", "kB", "MB", "GB"]
    while value >= 1000 and len(units) > 1:
        value, units = value / 1000, units[1:]
    return f"{value:.0f} {units[0]}" if units[0] == "B" else f"{value:.1f} {units[0]}"


def _page(title: str, lines: list[str], meta: list[str] | None = None) -> bytes:
    head = [
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width">',
        f'<meta name="pypi:repository-version" content="{API_VERSION}">',
        *(meta or []),
        f"<title>{_text(title)}</title><style>{_STYLE}</style>",
    ]
    body = "\n".join(lines)
    return f'<!DOCTYPE html>\n<html lang="en"><head>{"".join(head)}</head><body>\n{body}\n</body></html>\n'.encode()
