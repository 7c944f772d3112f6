"""Small algorithms on dicts."""

from __future__ import annotations

from random import Random
from typing import Any

from ..core import MAPPING, WORDS, Arguments, Family, Parameters
from ..sampler import choice, list_of

_NODES = "abcdef"


def _graph(rng: Random, _: Parameters) -> Arguments:
    """A directed graph as a dict from node to successors, and one of its nodes."""
    nodes = _NODES[: rng.randint(3, 6)]
    graph = {node: rng.sample(nodes, rng.choice((0, 1, 1, 2))) for node in nodes}
    return [graph, rng.choice(nodes)]


def _graph_and_pair(rng: Random, p: Parameters) -> Arguments:
    graph, start = _graph(rng, p)
    return [graph, start, rng.choice(list(graph))]


def _tasks(rng: Random, _: Parameters) -> Arguments:
    """An acyclic graph: every task needs only tasks before it in a random order."""
    order = rng.sample(_NODES, rng.randint(3, 6))
    needs = {node: rng.sample(order[:i], min(i, rng.choice((0, 1, 2)))) for i, node in enumerate(order)}
    return [{node: needs[node] for node in sorted(needs)}]


def _tree(rng: Random, depth: int = 2) -> dict[str, Any]:
    keys = rng.sample("abcxyz", rng.randint(1, 3))
    return {
        key: _tree(rng, depth - 1) if depth and rng.random() < 0.5 else rng.randint(0, 20) for key in keys
    }


FAMILIES = (
    Family(
        name="group_anagrams",
        level=3,
        topic="dicts",
        entry_points=("group_anagrams", "anagram_groups", "same_letters"),
        signatures=WORDS,
        wordings=(
            (
                "Group the strings in $words that are anagrams of each other: return a dict from the string "
                "of sorted letters to the list of strings with these letters, in their original order."
            ),
            (
                "Return a dict whose keys are the letters of each string in $words in sorted order ('tea' "
                "gives 'aet') and whose values list the strings with that key, order and repeats kept."
            ),
            (
                "Sort the characters of every string in $words to get its key; return the dict from key to "
                "the list of strings having it, in the order of $words."
            ),
        ),
        solution="""
            groups = {}
            for w in $words:
                key = ''.join(sorted(w))
                groups.setdefault(key, []).append(w)
            return groups
        """,
        inputs=[list_of(choice("tea", "eat", "ate", "tan", "ant", "nat", "bat", "tab", "bee"), 2, 7)],
        edges=[[[]], [[""]], [["ab", "ba", "abc"]], [["x", "x"]], [["Ab", "bA", "ab"]]],
    ),
    Family(
        name="index_of_words",
        level=3,
        topic="dicts",
        entry_points=("build_index", "inverted_index", "where_used"),
        signatures=("docs", "texts", "pages"),
        wordings=(
            (
                "$docs maps document names to texts. Return a dict from each space-separated word to the "
                "alphabetical list of the names of documents that contain it, each name once."
            ),
            (
                "Build an inverted index of the dict $docs (name to text): map every word, words being "
                "separated by spaces, to the sorted list of names whose text has it, without duplicates."
            ),
            (
                "Given $docs, a dict from name to text, return a dict from word to the sorted names of the "
                "texts in which this space-separated word occurs, no name twice."
            ),
        ),
        solution="""
            index = {}
            for name in sorted($docs):
                for w in $docs[name].split():
                    names = index.setdefault(w, [])
                    if name not in names:
                        names.append(name)
            return index
        """,
        inputs=lambda rng, _: [
            {
                name: " ".join(rng.choice(("red", "sun", "sea", "up")) for _ in range(rng.randint(1, 4)))
                for name in rng.sample(("d1", "d2", "d3", "a", "b"), rng.randint(1, 4))
            }
        ],
        edges=[[{}], [{"x": ""}], [{"x": "a a"}], [{"y": "a b", "x": "b"}], [{"q": "A a"}]],
    ),
    Family(
        name="flatten_dict",
        level=3,
        topic="dicts",
        entry_points=("flatten_dict", "flatten_keys", "to_paths"),
        signatures=MAPPING,
        wordings=(
            (
                "$d is a dict whose values are integers or dicts of the same kind. Return a flat dict from "
                "the keys on the way to each integer, joined by '$sep', to that integer. Empty dicts vanish."
            ),
            (
                "Flatten the nested dict $d: {'a': {'b': 1}, 'c': 2} gives {'a${sep}b': 1, 'c': 2}. Inner "
                "empty dicts leave no trace."
            ),
            (
                "Turn the nested dict $d (values are integers or dicts again) into a dict of depth one, "
                "joining nested keys with '$sep'; an empty dict inside contributes nothing. Return it."
            ),
        ),
        solution="""
            flat = {}
            stack = [('', $d)]
            while stack:
                prefix, node = stack.pop()
                for key, item in node.items():
                    if isinstance(item, dict):
                        stack.append((prefix + key + '$sep', item))
                    else:
                        flat[prefix + key] = item
            return flat
        """,
        parameters={"sep": choice(".", "/", "_", "-", ":")},
        inputs=lambda rng, _: [_tree(rng)],
        edges=[[{}], [{"a": 1}], [{"a": {"b": {"c": 3}}}], [{"a": {}}], [{"a": {"b": 1}, "b": 2}]],
    ),
    Family(
        name="topological_order",
        level=3,
        topic="dicts",
        entry_points=("task_order", "schedule", "build_order"),
        signatures=("needs", "tasks", "graph"),
        wordings=(
            (
                "$needs maps each task to the list of tasks that must come before it; there are no cycles. "
                "Return all tasks in such an order, always taking the alphabetically first task that is "
                "ready."
            ),
            (
                "Return an order of the keys of $needs in which every key comes after all keys in its list. "
                "At each step append the alphabetically smallest key whose list is done. Cycles do not "
                "occur."
            ),
            (
                "Sort the tasks in the acyclic dict $needs (task to list of required tasks) topologically: "
                "repeatedly pick, of the tasks not yet picked whose requirements all are, the alphabetically "
                "first. Return the list."
            ),
        ),
        solution="""
            order = []
            while len(order) < len($needs):
                ready = [t for t in $needs if t not in order and all(n in order for n in $needs[t])]
                order.append(min(ready))
            return order
        """,
        inputs=_tasks,
        edges=[
            [{}],
            [{"a": []}],
            [{"a": ["b"], "b": []}],
            [{"b": [], "a": []}],
            [{"c": [], "a": ["c"], "b": []}],
        ],
    ),
    Family(
        name="reachable",
        level=3,
        topic="dicts",
        entry_points=("reachable", "can_visit", "connected_to"),
        signatures=("graph, start", "links, source", "edges, node"),
        wordings=(
            (
                "$graph maps each node to the list of its successors. Return the sorted list of all nodes "
                "that can be reached from $start, $start itself included."
            ),
            (
                "Follow the links of $graph, a dict from node to list of next nodes, from $start as far as "
                "they lead; return every node visited, $start too, in alphabetical order."
            ),
            (
                "Return, alphabetically sorted, $start and all nodes to which a path leads from it in the "
                "directed graph $graph (a dict from node to list of successors)."
            ),
        ),
        solution="""
            seen = [$start]
            for current in seen:
                for following in $graph[current]:
                    if following not in seen:
                        seen.append(following)
            return sorted(seen)
        """,
        inputs=_graph,
        edges=[
            [{"a": []}, "a"],
            [{"a": ["a"], "b": []}, "a"],
            [{"a": ["b"], "b": ["a"], "c": ["a"]}, "a"],
            [{"a": ["c"], "b": [], "c": ["b"]}, "a"],
        ],
    ),
    Family(
        name="shortest_path_length",
        level=3,
        topic="dicts",
        entry_points=("shortest_path", "hops", "path_length"),
        signatures=("graph, start, goal", "links, source, target"),
        wordings=(
            (
                "$graph maps each node to the list of its successors. Return the least number of steps from "
                "$start to $goal: 0 if they are the same, -1 if there is no way."
            ),
            (
                "Return the length, in edges, of the shortest path from $start to $goal in the directed "
                "graph $graph (dict from node to list of successors); -1 without a path, 0 if $start equals "
                "$goal."
            ),
            (
                "How few links of the dict $graph (node to list of next nodes) lead from $start to $goal? "
                "Return that number, 0 for equal nodes, or -1 if $goal cannot be reached."
            ),
        ),
        solution="""
            distance = {$start: 0}
            queue = [$start]
            for current in queue:
                for following in $graph[current]:
                    if following not in distance:
                        distance[following] = distance[current] + 1
                        queue.append(following)
            return distance.get($goal, -1)
        """,
        inputs=_graph_and_pair,
        edges=[
            [{"a": []}, "a", "a"],
            [{"a": ["b"], "b": []}, "b", "a"],
            [{"a": ["b", "c"], "b": ["c"], "c": []}, "a", "c"],
            [{"a": ["b"], "b": ["c"], "c": ["a"]}, "a", "c"],
        ],
    ),
)
