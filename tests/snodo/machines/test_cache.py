from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from snodo_actors.machines.cache import CACHEABLE, Cache, Hints, Key, read_hints

PUBLIC = Hints(10.0, "public")
PRIVATE = Hints(10.0, "private")


def key(method="tools/list", uri=None, rest="", namespace="n"):
    return Key(namespace, method, uri, rest)


def store(cache, key, result="result", hints=PUBLIC, *, now=0.0, size=1, generation=None):
    generation = cache.generation if generation is None else generation
    return cache.store(key, result, hints, size=size, generation=generation, now=now)


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"ttlMs": 1500, "cacheScope": "public"}, Hints(1.5, "public")),
        ({"ttlMs": 1, "cacheScope": "private", "tools": []}, Hints(0.001, "private")),
        ({"ttlMs": 10**64 - 1, "cacheScope": "public"}, Hints((10**64 - 1) / 1000, "public")),
        ({}, None),
        ({"ttlMs": 0, "cacheScope": "public"}, None),
        ({"ttlMs": -5, "cacheScope": "public"}, None),
        ({"ttlMs": True, "cacheScope": "public"}, None),
        ({"ttlMs": 5.0, "cacheScope": "public"}, None),
        ({"ttlMs": "5", "cacheScope": "public"}, None),
        ({"ttlMs": 5}, None),
        ({"ttlMs": 5, "cacheScope": "shared"}, None),
        ({"ttlMs": 5, "cacheScope": ["public"]}, None),
    ],
)
def test_hints(result, expected):
    assert expected == read_hints(result)


def test_a_result_is_fresh_until_its_time_and_gone_at_it():
    cache = Cache[str]()
    assert cache.lookup(key(), 0.0) is None
    assert store(cache, key(), now=5.0)
    assert (cache.lookup(key(), 5.0), cache.lookup(key(), 14.999)) == ("result", "result")
    assert (len(cache), cache.bytes_held) == (1, 1)
    assert cache.lookup(key(), 15.0) is None
    assert (len(cache), cache.bytes_held) == (0, 0)


@pytest.mark.parametrize(
    "other",
    [
        key("prompts/list"),
        key(rest="cursor"),
        key(namespace="m"),
        key("resources/read", "file:///a"),
        key().private("token"),
    ],
)
def test_another_key_is_another_result(other):
    cache = Cache[str]()
    store(cache, key())
    assert cache.lookup(other, 0.0) is None


def test_a_private_result_is_only_for_the_credential_that_got_it():
    cache = Cache[str]()
    assert store(cache, key().private("ada"), hints=PRIVATE)
    assert cache.lookup(key().private("ada"), 1.0) == "result"
    assert (cache.lookup(key(), 1.0), cache.lookup(key().private("bob"), 1.0)) == (None, None)


def test_a_private_result_of_nobody_is_not_kept():
    assert not store(Cache[str](), key(), hints=PRIVATE)


def test_a_public_result_is_for_everybody_whoever_got_it():
    cache = Cache[str]()
    assert store(cache, key().private("ada"))
    assert cache.lookup(key(), 1.0) == "result"


def test_storing_again_replaces():
    cache = Cache[str]()
    store(cache, key(), "old", size=5)
    store(cache, key(), "new", size=7, now=3.0)
    assert (cache.lookup(key(), 12.0), len(cache), cache.bytes_held) == ("new", 1, 7)


def test_one_more_than_the_limit_pushes_out_the_one_used_least_recently():
    cache = Cache[str](max_results=3)
    for rest in "abc":
        store(cache, key(rest=rest))
    cache.lookup(key(rest="a"), 1.0)
    store(cache, key(rest="d"))
    assert [r for r in "abcd" if cache.lookup(key(rest=r), 1.0)] == ["a", "c", "d"]


def test_the_limits_are_256_results_and_16_mebibytes():
    cache = Cache[str]()
    for number in range(257):
        store(cache, key(rest=number))
    assert (len(cache), cache.lookup(key(rest=0), 1.0)) == (256, None)
    assert not store(cache, key(), size=16 * 1024 * 1024 + 1)
    assert store(cache, key(), size=16 * 1024 * 1024)


def test_bytes_push_out_as_many_as_needed_and_too_large_a_result_none():
    cache = Cache[str](max_bytes=10)
    for rest in "abc":
        store(cache, key(rest=rest), size=3)
    assert not store(cache, key(rest="huge"), size=11)
    assert len(cache) == 3
    assert store(cache, key(rest="d"), size=6)
    assert (
        [rest for rest in "abcd" if cache.lookup(key(rest=rest), 1.0)],
        cache.bytes_held,
    ) == (["c", "d"], 9)
    assert store(cache, key(rest="e"), size=10)
    assert len(cache) == 1


LISTS = ["tools/list", "prompts/list", "resources/list", "resources/templates/list"]

# notification, params, what of all that is kept goes
INVALIDATIONS = [
    ("notifications/tools/list_changed", None, {"tools/list"}),
    ("notifications/prompts/list_changed", {}, {"prompts/list"}),
    (
        "notifications/resources/list_changed",
        {"_meta": {}},
        {"resources/list", "resources/templates/list"},
    ),
    ("notifications/resources/updated", {"uri": "file:///a"}, {"file:///a"}),
    ("notifications/resources/updated", {"uri": "file:///c"}, set()),
    ("notifications/resources/updated", {"uri": 5}, None),
    ("notifications/resources/updated", {}, None),
    ("notifications/resources/updated", None, None),
    ("notifications/progress", {}, None),
    ("server/discover", {}, None),
]


@pytest.mark.parametrize(("method", "params", "gone"), INVALIDATIONS)
def test_invalidation(method, params, gone):
    cache = Cache[str]()
    keys = {
        "server/discover": key("server/discover"),
        "file:///a": key("resources/read", "file:///a"),
        "file:///b": key("resources/read", "file:///b"),
        **{method: key(method) for method in LISTS},
    }
    for each in keys.values():
        store(cache, each)
        store(cache, each.private("ada"), hints=PRIVATE)
        store(cache, Key("m", each.method, each.uri, each.rest))

    assert 2 * len(gone or ()) == cache.invalidate(["n"], method, params)
    for name, each in keys.items():
        for one in (each, each.private("ada")):
            assert (name in (gone or ())) == (cache.lookup(one, 1.0) is None)
        assert cache.lookup(Key("m", each.method, each.uri, each.rest), 1.0) == "result"
    assert cache.generation == (gone is not None)


def test_what_was_asked_before_an_invalidation_is_not_kept_after_it():
    cache = Cache[str]()
    before = cache.generation
    cache.invalidate(["another server"], "notifications/tools/list_changed", {})
    assert not store(cache, key(), generation=before)
    assert store(cache, key())


def test_a_server_that_is_there_no_more_is_forgotten():
    cache = Cache[str]()
    theirs = [key("resources/read", "a"), key().private("ada"), key(rest="cursor")]
    for each in theirs:
        store(cache, each, hints=PRIVATE if each.credential else PUBLIC)
    store(cache, key(namespace="m"))

    cache.forget("n")
    assert [cache.lookup(each, 1.0) for each in theirs] == [None] * 3
    assert cache.lookup(key(namespace="m"), 1.0) == "result"
    assert (len(cache), cache.bytes_held, cache.generation) == (1, 1, 0)


def test_what_may_be_cached():
    assert {"server/discover", "resources/read", *LISTS} == CACHEABLE


class Shared(RuleBasedStateMachine):
    """However it is used: never stale, never another's, never too much."""

    @initialize(max_results=st.integers(1, 4), max_bytes=st.integers(1, 12))
    def start(self, max_results, max_bytes):
        self.cache = Cache[int](max_results=max_results, max_bytes=max_bytes)
        self.max_results, self.max_bytes = max_results, max_bytes
        self.now, self.generation, self.serial = 0.0, 0, 0
        self.model = {}  # key -> (result, stale at, size), in the order of use

    def a_key(self, number, credential):
        method, uri = [("tools/list", None), ("resources/read", "a"), ("resources/read", "b")][
            number % 3
        ]
        return Key(number // 3, method, uri, "", credential)

    numbers = st.integers(0, 5)
    credentials = st.sampled_from([None, "ada", "bob"])

    @rule(
        number=numbers,
        credential=credentials,
        scope=st.sampled_from(["public", "private"]),
        ttl=st.integers(1, 6),
        size=st.integers(1, 6),
        behind=st.integers(0, 1),
    )
    def store(self, *, number, credential, scope, ttl, size, behind):
        self.serial += 1
        key = self.a_key(number, credential)
        kept = self.cache.store(
            key,
            self.serial,
            Hints(ttl, scope),
            size=size,
            generation=self.generation - behind,
            now=self.now,
        )
        nobodys = scope == "private" and credential is None
        assert kept == (not behind and size <= self.max_bytes and not nobodys)
        if kept:
            if scope == "public":
                key = self.a_key(number, None)
            self.model.pop(key, None)
            self.model[key] = (self.serial, self.now + ttl, size)
            while len(self.model) > self.max_results or self.held() > self.max_bytes:
                del self.model[next(iter(self.model))]

    def held(self):
        return sum(size for _, _, size in self.model.values())

    @rule(number=numbers, credential=credentials)
    def lookup(self, number, credential):
        key = self.a_key(number, credential)
        found = self.cache.lookup(key, self.now)
        if key not in self.model:
            assert found is None
        elif self.model[key][1] <= self.now:
            assert found is None
            del self.model[key]
        else:
            assert found == self.model[key][0]
            self.model[key] = self.model.pop(key)

    @rule(
        namespace=st.integers(0, 1),
        event=st.sampled_from(
            [
                ("notifications/tools/list_changed", {}, ("tools/list", None)),
                ("notifications/resources/updated", {"uri": "a"}, ("resources/read", "a")),
                ("notifications/message", {}, None),
            ]
        ),
    )
    def invalidate(self, namespace, event):
        method, params, stale = event
        self.cache.invalidate([namespace], method, params)
        self.generation += stale is not None
        for key in list(self.model):
            if key.namespace == namespace and (key.method, key.uri) == stale:
                del self.model[key]

    @rule(namespace=st.integers(0, 1))
    def forget(self, namespace):
        self.cache.forget(namespace)
        self.model = {key: kept for key, kept in self.model.items() if key.namespace != namespace}

    @rule(step=st.integers(0, 3))
    def time(self, step):
        self.now += step

    @invariant()
    def holds(self):
        assert len(self.cache) == len(self.model) <= self.max_results
        assert self.cache.bytes_held == self.held() <= self.max_bytes
        assert self.cache.generation == self.generation
        assert list(self.cache._entries) == list(self.model)
        subjects = self.cache._subjects
        assert all(
            (key.namespace, key.method, key.uri) == s for s in subjects for key in subjects[s]
        )
        assert {key for keys in subjects.values() for key in keys} == set(self.model)
        assert all(subjects.values())


TestShared = Shared.TestCase
TestShared.settings = settings(max_examples=80, stateful_step_count=40, deadline=None)
