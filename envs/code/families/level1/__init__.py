"""Level 1: functions whose body is one short line."""

from __future__ import annotations

from . import dicts, list_query, list_transform, numbers, string_edit, string_query

FAMILIES = (
    *numbers.FAMILIES,
    *string_query.FAMILIES,
    *string_edit.FAMILIES,
    *list_query.FAMILIES,
    *list_transform.FAMILIES,
    *dicts.FAMILIES,
)
