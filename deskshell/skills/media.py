"""What kind of file a name promises, and when a picture was taken."""

from __future__ import annotations

import io
from datetime import datetime

from deskshell.files import reading

_CATEGORIES = {
    "images": "jpg jpeg jpe jfif png gif webp avif bmp tif tiff heic heif svg ico psd xcf raw dng cr2 cr3 nef nrw "
    "arw srf sr2 orf rw2 raf pef srw",
    "videos": "mp4 m4v mov mkv webm avi wmv flv mpg mpeg 3gp ogv mts m2ts",
    "audio": "mp3 m4a m4b aac flac wav ogg oga opus wma aif aiff mid midi",
    "documents": "pdf doc docx odt rtf txt md rst tex pages xls xlsx ods numbers csv tsv ppt pptx odp key",
    "books": "epub mobi azw azw3 djvu cbz cbr",
    "archives": "zip tar gz tgz bz2 tbz2 xz txz zst 7z rar lz lzma cab",
    "installers": "deb rpm appimage flatpak flatpakref snap dmg pkg exe msi apk iso img",
    "code": "py js ts jsx tsx c h cpp hpp rs go java kt rb php sh bash pl lua sql html css ipynb",
    "data": "json jsonl xml yaml yml toml ini sqlite db parquet ics vcf log",
    "fonts": "ttf otf woff woff2",
}
_CATEGORY_OF = {ext.encode(): name for name, exts in _CATEGORIES.items() for ext in exts.split()}
CATEGORIES = (*_CATEGORIES, "other")


def category(name: bytes) -> str:
    """One of `CATEGORIES`, by the ending alone; `other` when it is unknown or missing."""
    dot = name.rfind(b".")
    return _CATEGORY_OF.get(name[dot + 1 :].lower(), "other") if dot > 0 else "other"


# DateTimeOriginal is when the shutter opened; DateTimeDigitized when a scanner or the camera stored it.
# `Image DateTime` is when a program last saved the file, which is no better than the file's own time.
_TAGS = ("EXIF DateTimeOriginal", "EXIF DateTimeDigitized")


def date_taken(path: bytes) -> datetime | None:
    """The date in a picture's EXIF data: JPEG, HEIC, AVIF, PNG, WebP, TIFF and raw files built on TIFF.

    The time of the camera's clock, which carries no zone: it is the photographer's own day, and is taken as it
    stands (F38). None for files without one, damaged ones, and those that are no regular file.

    Raises:
        OSError: the file cannot be opened or read.
    """
    import logging

    import exifread

    # It warns about every file that is no picture, on standard error when nobody listens.
    logging.getLogger("exifread").setLevel(logging.CRITICAL)
    fd, found = reading.open_file(-100, path)
    with _Bounded(fd, found.size) as file:
        try:
            tags = exifread.process_file(file, details=False, extract_thumbnail=False)
        except OSError:
            raise
        except Exception:  # whatever a damaged or hostile file makes of the parser
            return None
    for tag in _TAGS:
        if (value := tags.get(tag)) is not None and (parsed := parse_date(str(value))) is not None:
            return parsed
    return None


class _Bounded(io.BufferedReader):
    """A file that ends a parser which a damaged or hostile picture sends round in circles."""

    def __init__(self, fd: int, size: int) -> None:
        super().__init__(io.FileIO(fd))
        self._size = size
        self._reads = 0

    def read(self, size: int | None = -1, /) -> bytes:
        """Raises ValueError after far more reads, or for far more, than a picture's head takes."""
        self._reads += 1
        if self._reads > _MAX_READS or (size is not None and size > self._size + _SLACK):
            raise ValueError("not a picture that can be read")
        return super().read(size)


_MAX_READS = 200_000
_SLACK = 1 << 16  # a reader may ask for a block that the end of the file cuts short


def parse_date(text: str) -> datetime | None:
    """`2024:05:06 07:08:09` as a time without zone; None for blanks, zeros and other nonsense."""
    try:
        parsed = datetime.strptime(text.strip("\0 ")[:19], "%Y:%m:%d %H:%M:%S")
    except ValueError:
        return None
    return parsed if parsed.year > 1800 else None  # some cameras write year 1 or 1601 for "not set"


def extension(name: bytes) -> bytes:
    """The ending in lower case without its dot; empty when there is none (`.profile` has none)."""
    return stem_and_ext(name)[1].lower()


def stem_and_ext(name: bytes) -> tuple[bytes, bytes]:
    """`name` before and after its last dot; the dots that a hidden name begins with are none (`.profile`)."""
    dot = name.rfind(b".")
    if dot <= 0 or not name[:dot].strip(b"."):
        return name, b""
    return name[:dot], name[dot + 1 :]
