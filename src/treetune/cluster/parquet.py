"""Parquet files by row groups, rows as dictionaries; pyarrow is imported when there is such a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from treetune.errors import ConfigError, DataError

Row = dict[str, Any]


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ConfigError("Parquet needs pyarrow; install it by: pip install 'treetune[ray]'") from None
    return pyarrow, pyarrow.parquet


def _open(path: str) -> Any:
    pyarrow, parquet = _pyarrow()
    try:
        return parquet.ParquetFile(path)
    except (pyarrow.ArrowInvalid, OSError) as error:
        raise DataError(f"expected a Parquet file, found what cannot be read as one ({error})", path=path) from None


def row_groups(path: str) -> list[int]:
    """Return the size of each row group of a file, unpacked, in bytes."""
    with _open(path) as file:
        return [file.metadata.row_group(index).total_byte_size for index in range(file.metadata.num_row_groups)]


def read_rows(path: str, start: int, end: int) -> Iterator[tuple[int, Row]]:
    """Yield the rows of some row groups with their numbers, from 1 in the first of them."""
    with _open(path) as file:
        number = 0
        for batch in file.iter_batches(batch_size=256, row_groups=list(range(start, end))):
            for row in batch.to_pylist():
                number += 1
                yield number, row


def schema_of(path: str) -> Any:
    """Return the schema of a file."""
    with _open(path) as file:
        return file.schema_arrow


class ParquetWriter:
    """Writes rows, a row group at a time; without a schema, the first rows decide on the types of columns."""

    def __init__(self, raw: BinaryIO, schema: Any, more: Sequence[str]) -> None:
        self._pyarrow, self._parquet = _pyarrow()
        self._raw = raw
        for name in more if schema is not None else ():
            index = schema.get_field_index(name)
            field = self._pyarrow.field(name, self._pyarrow.string())
            schema = schema.append(field) if index < 0 else schema.set(index, field)
        self._schema = schema
        self._writer: Any = None

    def write(self, rows: list[Row]) -> None:
        """Write rows as a row group."""
        table = self._pyarrow.Table.from_pylist(rows, schema=self._schema)
        if self._writer is None:
            self._schema = table.schema
            self._writer = self._parquet.ParquetWriter(self._raw, self._schema)
        self._writer.write_table(table)

    def close(self) -> None:
        """Write the end of the file, also if there were no rows."""
        if self._writer is None:
            self.write([])
        self._writer.close()
