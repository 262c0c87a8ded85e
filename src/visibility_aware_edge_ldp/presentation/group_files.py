"""Estimates by group as files for those who model epidemics and networks.

``contact_matrix`` has the shape of R's socialmixr: the mean number of contacts in each group (columns) of a participant
of each group (rows), and how many participants each group has. ``target_statistics`` are named and ordered as R's ergm
and EpiModel name and order their terms.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.aggregator.answers import number
from visibility_aware_edge_ldp.presentation.files import csv_bytes, json_text
from visibility_aware_edge_ldp.public.statistic import columns_of

CONTACTS, TARGETS, CONCURRENT, HISTOGRAM = "contacts", "ergm_targets", "tail:2", "degree_histogram"
MATRICES = {
    "mixing": "mixing: friendships between the groups of row and column, ± standard error",
    CONTACTS: "contacts: mean friends in the column's group of one member of the row's, ± standard error",
}
LISTS = {
    "largest_degrees": "{}: the largest degrees; all intervals hold together, and all who are sure are among them",
}
LISTS["clustering_by_degree"] = "{}: of two friends of somebody with so many, how often they are friends themselves"
_PARTS = ("standard_error", "low", "high")


def group_files(found: Mapping[str, Any]) -> dict[str, bytes]:
    """The files for what an estimate's JSON holds of groups, by name; none where it holds nothing of them."""
    files: dict[str, bytes] = {}
    if CONTACTS in found["estimates"]:
        matrix = contact_matrix(found)
        rows = [
            {"group": label, **dict(zip(matrix["groups"], row, strict=True))}
            for label, row in zip(matrix["groups"], matrix["matrix"], strict=True)
        ]
        files["contact_matrix.csv"] = csv_bytes(rows)
        files["participants.csv"] = csv_bytes(matrix["participants"])
        files["contact_matrix.json"] = (json_text("contact-matrix", matrix) + "\n").encode()
    if TARGETS in found["estimates"]:
        terms = target_statistics(found)
        files["target_statistics.csv"] = csv_bytes(terms)
        files["target_statistics.json"] = (json_text("target-statistics", {"terms": terms}) + "\n").encode()
    return files


def contact_matrix(found: Mapping[str, Any]) -> dict[str, Any]:
    """From an estimate of contacts to socialmixr's ``matrix`` and ``participants``, with matrices of errors."""
    groups, each = _groups(found), _columns(found["estimates"][CONTACTS])
    labels, sizes = groups["labels"], groups["sizes"]
    shape = (len(labels), len(labels))
    return {
        "attribute": groups["attribute"],
        "groups": labels,
        "matrix": np.reshape(each["value"], shape).tolist(),
        **{name: np.reshape(each[name], shape).tolist() for name in _PARTS},
        "participants": [
            {"group": label, "participants": size, "proportion": size / max(sum(sizes), 1)}
            for label, size in zip(labels, sizes, strict=True)
        ],
    }


def target_statistics(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One row for each term of a network model: edges, nodematch, nodefactor, nodemix; and degrees, where asked for.

    ``concurrent`` is how many have two friends or more ("tail:2"); ``degreeK`` how many have K, from those bins of the
    degree histogram that hold one degree.
    """
    estimates = found["estimates"]
    rows = _rows(estimates[TARGETS]["labels"], _columns(estimates[TARGETS]))
    if CONCURRENT in estimates:
        rows += _rows(["concurrent"], _columns(estimates[CONCURRENT]))
    if HISTOGRAM in estimates:
        bins = estimates[HISTOGRAM]
        every = _rows([f"degree{first}" for first, _ in bins["labels"]], _columns(bins))
        rows += [row for row, (first, last) in zip(every, bins["labels"], strict=True) if first == last]
    return rows


def matrix_tables(found: Mapping[str, Any]) -> list[tuple[str, tuple[str, ...], list[tuple[str, ...]]]]:
    """Title, head and rows of each matrix that an estimate's JSON holds, with standard errors, for a terminal."""
    tables = []
    for name, title in MATRICES.items():
        if name in found["estimates"]:
            labels, each = _groups(found)["labels"], found["estimates"][name]
            values = zip(each["value"], each["standard_error"], strict=True)
            told = {tuple(key): f"{number(value)} ± {number(float(f'{error:.2g}'))}" for key, (value, error) in
                    zip(each["labels"], values, strict=True)}  # fmt: skip
            rows = [(a, *(told.get((a, b)) or told[b, a] for b in labels)) for a in labels]
            tables.append((title, (_groups(found)["attribute"], *labels), rows))
    return tables


def list_tables(found: Mapping[str, Any]) -> list[tuple[str, tuple[str, ...], list[tuple[str, ...]]]]:
    """Title, head and rows of each short list that an estimate's JSON holds, with intervals, for a terminal."""
    tables = []
    for name, each in found["estimates"].items():
        if (title := LISTS.get(name.partition(":")[0])) is not None:
            *head, value = columns_of(name)
            ends = [f"[{number(low)}, {number(high)}]" for low, high in zip(*each["interval"], strict=True)]
            told = zip(each["labels"], each["value"], ends, strict=True)
            rows = [(*map(str, label), number(entry), end) for label, entry, end in told]
            tables.append((title.format(name), (*head, value, "95 % interval"), rows))
    return tables


def _groups(found: Mapping[str, Any]) -> Mapping[str, Any]:
    """What estimates on a graph, or a campaign's answers, say of their groups."""
    groups: Mapping[str, Any] = found["groups"] if "groups" in found else found["graph"]["groups"]
    return groups


def _columns(found: Mapping[str, Any]) -> dict[str, list[float]]:
    low, high = found["interval"]
    parts = {"value": found["value"], "standard_error": found["standard_error"], "low": low, "high": high}
    return {name: np.atleast_1d(np.asarray(part, np.float64)).tolist() for name, part in parts.items()}


def _rows(terms: Sequence[str], columns: Mapping[str, list[float]]) -> list[dict[str, Any]]:
    return [{"term": term, **{name: values[i] for name, values in columns.items()}} for i, term in enumerate(terms)]
