import ast
import copy
import json
import keyword
import subprocess
import sys
import time
from collections import Counter, defaultdict
from dataclasses import replace
from functools import cache
from itertools import combinations
from random import Random

import pytest

from grpo_agent.envs.code.families import FAMILIES
from grpo_agent.envs.code.family import LEVELS, SPLITS, FamilyTasks, build_task, load_function, split_of

EVERY = sorted(FAMILIES.values(), key=lambda family: family.name)
every_family = pytest.mark.parametrize("family", EVERY, ids=lambda family: family.name)
SEEDS = range(5)


@cache
def rows_of(family_name):
    """The tasks of the first seeds; callers leave them as they are."""
    return [build_task(FAMILIES[family_name], seed) for seed in SEEDS]


def same(left, right):
    """Equality of plain data that tells 1, 1.0 and True apart."""
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


def passes(function, tests):
    for test in tests:
        try:
            result = function(*test["args"])
        except Exception:  # noqa: BLE001 - whatever a wrong function raises, it fails
            return False
        if not same(result, test["result"]):
            return False
    return True


def reference(row):
    return load_function(row["solution"], row["entry_point"])


def in_levels(split, levels=LEVELS):
    return {family.name for family in EVERY if split_of(family.name) == split and family.level in levels}


# The collection of families


def test_there_are_enough_families_at_each_level():
    counts = Counter(family.level for family in EVERY)
    assert counts[1] >= 56
    assert counts[2] >= 22
    assert counts[3] >= 18


def test_a_family_is_registered_under_its_unique_name():
    assert all(name == family.name and name.isidentifier() for name, family in FAMILIES.items())


@every_family
def test_wordings_are_distinct_paraphrases_that_name_every_argument(family):
    assert len(set(family.wordings)) == len(family.wordings) >= 3
    for wording in family.wordings:
        for argument in family.signatures[0].split(", "):
            assert f"${argument}" in wording, wording
        assert wording.endswith((".", "..."))


@every_family
def test_names_can_be_defined_in_python(family):
    for seed in range(10):
        variant = family.draw_variant(Random(seed))
        names = [variant.entry_point, *variant.signature.split(", ")]
        assert len(set(names)) == len(names)
        assert all(name.isidentifier() and not keyword.iskeyword(name) for name in names)
        assert variant.entry_point not in dir(__builtins__)
    assert 2 <= len(set(family.entry_points)) == len(family.entry_points) <= 4


@every_family
def test_argument_names_do_not_change_what_the_reference_does(family):
    rng = Random(0)
    variant = family.draw_variant(rng)
    calls = [*family.edge_arguments(variant.parameters)]
    calls += [family.draw_arguments(rng, variant.parameters) for _ in range(10)]
    outcomes = set()
    for signature in family.signatures:
        for name in (variant.entry_point, "solve"):
            source = family.source(replace(variant, signature=signature, entry_point=name))
            function = load_function(source, name)
            outcomes.add(json.dumps([function(*copy.deepcopy(call)) for call in calls]))
    assert len(outcomes) == 1


def test_level_one_solutions_are_one_short_line():
    for family in EVERY:
        if family.level == 1:
            assert family.solution.count("\n") == 0
            assert family.solution.startswith("return ")
            assert len(family.solution) <= 60, family.solution


def test_no_two_families_are_the_same_function():
    rows = {family.name: rows_of(family.name)[:2] for family in EVERY}
    functions = {name: [reference(row) for row in rows_of(name)] for name in rows}
    by_arity = defaultdict(list)
    for name, family_rows in rows.items():
        by_arity[len(family_rows[0]["example"]["args"])].append(name)

    def imitates(name, other):
        return any(passes(function, row["tests"]) for row in rows[other] for function in functions[name])

    def ends_on_any_arguments(name):
        return "while" not in FAMILIES[name].solution

    for names in by_arity.values():
        for name, other in combinations(names, 2):
            comparable = [pair for pair in [(name, other), (other, name)] if ends_on_any_arguments(pair[0])]
            assert not comparable or not all(imitates(*pair) for pair in comparable), (name, other)


# Tasks


@every_family
def test_the_reference_passes_its_tests_and_leaves_arguments_alone(family):
    for row in rows_of(family.name):
        function = reference(row)
        for case in [row["example"], *row["tests"]]:
            arguments = copy.deepcopy(case["args"])
            assert same(function(*arguments), case["result"])
            assert same(arguments, case["args"])


@every_family
def test_a_row_is_plain_json(family):
    for row in rows_of(family.name):
        again = json.loads(json.dumps(row, allow_nan=False))
        assert again == row
        assert json.dumps(again) == json.dumps(row)


@every_family
def test_the_prompt_shows_the_signature_and_is_short(family):
    limit = {1: 25, 2: 45, 3: 60}[family.level]
    for row in rows_of(family.name):
        arguments = [argument.arg for argument in ast.parse(row["solution"]).body[0].args.args]
        assert f"`{row['entry_point']}({', '.join(arguments)})`" in row["prompt"]
        assert len(row["prompt"].split()) <= limit, row["prompt"]
        assert "$" not in row["prompt"] + row["solution"]


@every_family
def test_hidden_tests_are_distinct_and_contain_the_edge_cases_but_not_the_example(family):
    for row in rows_of(family.name):
        calls = [json.dumps(test["args"]) for test in row["tests"]]
        assert 6 <= len(calls) <= 12
        assert len(set(calls)) == len(calls)
        assert json.dumps(row["example"]["args"]) not in calls
    edges = family.edge_arguments(family.draw_variant(Random(0)).parameters)
    assert len(edges) >= 3
    if not callable(family.edges):
        assert {json.dumps(edge) for edge in edges} <= set(calls)


@every_family
def test_trivial_solutions_fail(family):
    for row in rows_of(family.name):
        tests = row["tests"]
        arity = len(row["example"]["args"])
        constants = [None, 0, 1, "", [], {}, True, False, row["example"]["result"]]
        constants += [test["result"] for test in tests]
        assert not any(passes(lambda *_, c=constant: c, tests) for constant in constants)
        assert not any(passes(lambda *args, i=i: args[i], tests) for i in range(arity))


@every_family
def test_no_constant_passes_most_of_the_tests(family):
    for row in rows_of(family.name):
        results = Counter(json.dumps(test["result"]) for test in row["tests"])
        assert max(results.values()) <= 0.7 * results.total()


@every_family
def test_a_seed_makes_one_task_and_other_seeds_other_tasks(family):
    rows = [build_task(family, seed) for seed in range(10)]
    assert json.dumps(rows) == json.dumps([build_task(family, seed) for seed in range(10)])
    assert len({row["task_id"] for row in rows}) == 10
    assert len({row["prompt"] for row in rows}) >= 7
    assert len({json.dumps(row["tests"]) for row in rows}) >= 7 or not family.parameters


MISTAKES = (
    ("is_greater_than", ">", ">="),
    ("is_between", "$low <= $x", "$low < $x"),
    ("is_between", "$x <= $high", "$x < $high"),
    ("absolute_difference", "abs", ""),
    ("is_longer_than", ">", ">="),
    ("count_words", "split()", "split(' ')"),
    ("equal_ignoring_case", "$s.lower()", "$s"),
    ("is_palindrome", "$s == $s[::-1]", "$s.lower() == $s.lower()[::-1]"),
    ("first_characters", "[:$k]", "[:$k + 1]"),
    ("last_characters", "[-$k:]", "[len($s) - $k:]"),
    ("drop_last", "[:-$k]", "[:len($xs) - $k]"),
    ("keep_odd", "== 1", "== -1"),
    ("keep_above", ">", ">="),
    ("count_distinct", "set($xs)", "$xs"),
    ("numbers_up_to", "$n + 1", "$n"),
    ("get_or_default", "$d.get('$key', $k)", "$d.get('$key') or $k"),
    ("merge_dicts", "{**$d, **$e}", "{**$e, **$d}"),
    ("digit_sum", "abs($x)", "$x"),
    ("longest_word", "> len(best)", ">= len(best)"),
    ("index_of_largest", "> $xs[best]", ">= $xs[best]"),
    ("rotate_left", "% len($xs)", ""),
    ("second_largest", "set($xs)", "$xs"),
    ("is_prime", "if $n < 2", "if $n < 1"),
    ("key_of_largest", "sorted($d)", "$d"),
    ("merge_intervals", "start <=", "start <"),
    ("insertion_point", "< $target", "<= $target"),
    ("is_balanced", "return not stack", "return True"),
    ("run_length_encode", "str(j - i)", "str(j - i)[:1]"),
    ("knapsack", "range($capacity, weight - 1, -1)", "range(weight, $capacity + 1)"),
)


@pytest.mark.parametrize(("name", "right", "wrong"), MISTAKES)
def test_hidden_tests_catch_common_mistakes(name, right, wrong):
    family = FAMILIES[name]
    assert right in family.solution
    mistaken = replace(family, solution=family.solution.replace(right, wrong, 1))
    for seed in SEEDS:
        variant = mistaken.draw_variant(Random(f"{name}:{seed}"))
        function = load_function(mistaken.source(variant), variant.entry_point)
        assert not passes(function, rows_of(name)[seed]["tests"])


# Splits


def test_every_level_and_topic_is_in_both_splits_and_a_third_is_held_out():
    groups = defaultdict(Counter)
    for family in EVERY:
        groups[family.level, family.topic][split_of(family.name)] += 1
    for counts in groups.values():
        assert counts["test"] >= 1
        assert abs(counts["test"] - counts.total() / 3) <= 0.5
    for level in LEVELS:
        share = len(in_levels("test", [level])) / len(
            in_levels("test", [level]) | in_levels("train", [level])
        )
        assert 0.28 <= share <= 0.38


def test_an_unknown_family_has_no_split():
    with pytest.raises(ValueError, match="no task family named 'nope'"):
        split_of("nope")


def test_splits_share_no_family_and_no_task():
    rows = {split: FamilyTasks(split, size=300)[:] for split in SPLITS}
    families = {split: {row["family"] for row in rows[split]} for split in SPLITS}
    assert families["train"] == in_levels("train")
    assert families["test"] == in_levels("test")
    assert not families["train"] & families["test"]
    assert not {row["prompt"] for row in rows["train"]} & {row["prompt"] for row in rows["test"]}


# FamilyTasks


@pytest.mark.parametrize("levels", [(1,), (2, 3), (1, 2, 3)])
def test_families_take_turns(levels):
    names = in_levels("train", levels)
    tasks = FamilyTasks("train", levels, size=3 * len(names))
    order = [row["family"] for row in tasks]
    assert set(Counter(order).values()) == {3}
    assert set(order[: len(names)]) == names
    assert order[: len(names)] != order[len(names) : 2 * len(names)]


def test_rows_do_not_depend_on_size_or_on_the_order_of_access():
    short, long = FamilyTasks("train", size=10), FamilyTasks("train", size=10**12)
    assert long[9] == short[9]
    assert [short[i] for i in range(10)] == list(short) == long[:10]
    assert short[-1] == short[9]
    assert long[10**12 - 1]["tests"]


def test_seeds_give_different_tasks():
    first, second = (FamilyTasks("train", size=50, seed=seed)[:] for seed in (0, 1))
    assert not {row["task_id"] for row in first} & {row["task_id"] for row in second}


def test_rows_are_the_same_to_the_byte_in_every_process():
    program = (
        "import hashlib, json\n"
        "from grpo_agent.envs.code.family import FamilyTasks\n"
        "rows = [FamilyTasks(split, size=250, seed=3)[:] for split in ('train', 'test')]\n"
        "print(hashlib.sha256(json.dumps(rows).encode()).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
        for hash_seed in ("0", "1")
    }
    assert len(digests) == 1


def test_a_thousand_tasks_are_diverse_and_quick_to_build():
    start = time.process_time()
    rows = FamilyTasks("train", size=1000)[:]
    seconds = time.process_time() - start
    assert len({row["prompt"] for row in rows}) >= 700
    assert len({row["task_id"] for row in rows}) == 1000
    assert seconds / 1000 < 0.002


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"split": "dev"}, "split must be one of train, test, got 'dev'"),
        ({"split": "train", "levels": (1, 4)}, r"levels must be some of \[1, 2, 3\], got \[1, 4\]"),
        ({"split": "train", "levels": ()}, r"levels must be some of \[1, 2, 3\], got \[\]"),
        ({"split": "train", "size": 0}, "size must be at least 1 task, got 0"),
    ],
)
def test_bad_settings_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        FamilyTasks(**arguments)


def test_a_row_outside_the_tasks_is_an_index_error():
    tasks = FamilyTasks("test", size=3)
    with pytest.raises(IndexError, match="row 3 of 3 tasks"):
        tasks[3]
    assert len(list(tasks)) == len(tasks) == 3
