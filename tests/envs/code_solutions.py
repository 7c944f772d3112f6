"""Solutions of `add(a, b)`: honest ones, and cheats."""

HONEST = {
    "plain": "def add(a, b): return a + b",
    "prints": """
        import sys
        print('{"value": 4}')
        sys.stdout.write("x" * 100_000)
        def add(a, b):
            print("debug", a, b)
            sys.stderr.write("x")
            return a + b
        """,
    "closes_its_streams": "import os, sys\nos.close(1)\nsys.stdout.close()\ndef add(a, b): return a + b",
    "recursive": "def add(a, b, up=1): return a if b == 0 else add(b, a) if b < 0 else add(a + 1, b - 1)",
    "dataclass": """
        from __future__ import annotations
        from dataclasses import dataclass
        @dataclass
        class Sum:
            a: int
            b: int
        def add(a, b):
            s = Sum(a, b)
            return s.a + s.b
        """,
    "cached": "import functools\n@functools.lru_cache\ndef add(a: int, b: int) -> int: return a + b",
    "lambda": "add = lambda a, b: a + b",
    "main_guard": "def add(a, b): return a + b\nif __name__ == '__main__': raise SystemExit(3)",
    "patches_json": "import json\njson.dumps = json.loads = None\ndef add(a, b): return a + b",
    "leaves_a_thread": """
        import threading, time
        threading.Thread(target=time.sleep, args=(60,)).start()
        def add(a, b): return a + b
        """,
}

FORGE = """
    import os
    def forge(body):
        for f in range(1, 64):
            try: os.write(f, body)
            except OSError: pass
    """
WALK = """
    import sys
    def seen(name):
        f = sys._getframe()
        while f:
            for space in (f.f_locals, f.f_globals):
                if name in space: yield space[name]
            f = f.f_back
    """

CHEATS = {
    "os_exit_at_import": "import os; os._exit(0)",
    "os_exit_in_call": "import os\ndef add(a, b): os._exit(0)",
    "sys_exit_at_import": "import sys; sys.exit(0)",
    "sys_exit_in_call": "import sys\ndef add(a, b): sys.exit(0)",
    "ctypes_exit": "import ctypes\ndef add(a, b): ctypes.CDLL(None)._exit(0)",
    "atexit": "import atexit, os\natexit.register(os._exit, 0)\ndef add(a, b): raise SystemExit",
    "kill_self": "import os\ndef add(a, b): os.kill(os.getpid(), 9)",
    "keyboard_interrupt": "def add(a, b): raise KeyboardInterrupt",
    "raises_value_error": "def add(a, b): raise ValueError",
    "raises_value_error_at_import": "raise ValueError",
    "raises_stop_iteration": "def add(a, b): raise StopIteration",
    "raises_what_exits": """
        import os
        class E(Exception):
            def __str__(self): os._exit(0)
        def add(a, b): raise E
        """,
    "always_equal": """
        class E:
            def __eq__(s, o): return True
            def __ne__(s, o): return False
            def __bool__(s): return True
            __hash__ = object.__hash__
        def add(a, b): return E()
        """,
    "always_equal_int": """
        class I(int):
            def __eq__(s, o): return True
            __hash__ = int.__hash__
        def add(a, b): return I(0)
        """,
    "pretends_to_be_int": """
        class I:
            __class__ = int
            def __eq__(s, o): return True
            __hash__ = object.__hash__
        def add(a, b): return I()
        """,
    "patched_type_name": """
        class M(type):
            __name__ = property(lambda c: __import__("os")._exit(0))
        class I(metaclass=M):
            def __eq__(s, o): return True
        def add(a, b): return I()
        """,
    "patched_builtins": """
        import builtins
        builtins.type = lambda *a: int
        builtins.isinstance = lambda *a: True
        builtins.all = lambda *a: True
        def add(a, b): return object()
        """,
    "generator": "def add(a, b): yield a + b",
    "lazy": "def add(a, b): return map(int, [a + b])",
    "nan": "def add(a, b): return float('nan')",
    "true": "def add(a, b): return True",
    "string": "def add(a, b): return str(a + b)",
    "float": "def add(a, b): return float(a + b)",
    "one_element_list": "def add(a, b): return [a + b]",
    "constant": "def add(a, b): return 3",
    "none": "def add(a, b): pass",
    "missing": "def sub(a, b): return a - b",
    "not_callable": "add = 3",
    "syntax_error": "def add(a, b) return a + b",
    "null_byte": "def add(a, b): return a + b\0",
    "big_int": "def add(a, b): return 10 ** (10 ** 6)",
    "huge_value": "def add(a, b): return 'x' * (3 << 20)",
    "huge_list": "def add(a, b): return [0] * 3_000_000",
    "deep_value": """
        def add(a, b):
            v = []
            for _ in range(100_000): v = [v]
            return v
        """,
    "endless_value": "def add(a, b):\n    v = []\n    v.append(v)\n    return v",
    "surrogates": "def add(a, b): return '\\ud800'",
    "segfault": "import ctypes\ndef add(a, b): ctypes.string_at(0)",
    "reduce_payload": """
        import os
        class P:
            def __reduce__(s): return os._exit, (0,)
        def add(a, b): return P()
        """,
    "forged_verdicts": FORGE
    + """
    def add(a, b):
        forge(b'{"ok": true, "value": true, "passed": [true]}\\n')
        forge(b'passed\\n')
        os._exit(0)
    """,
    "many_answers": FORGE
    + """
    def add(a, b):
        for v in range(700): forge(b'%d\\n' % v)
        return 0
    """,
    "noise_after_the_answer": FORGE
    + """
    import threading, time
    def add(a, b):
        def later():
            while True: forge(b'3\\n')
        threading.Thread(target=later, daemon=True).start()
        time.sleep(0.05)
        return 3
    """,
    "forged_frame_and_honest_frame": FORGE
    + WALK
    + """
    def add(a, b):
        nonce = next(seen("request"))["nonce"]
        forge(f'{nonce} {{"value": {a + b}}} {nonce}\\n'.encode())
        return a + b
    """,
    "forged_frame_with_repeated_keys": FORGE
    + WALK
    + """
    def add(a, b):
        nonce = next(seen("request"))["nonce"]
        forge(f'{nonce} {{"value": 0, "value": {a + b}}} {nonce}\\n'.encode())
        os._exit(0)
    """,
    "forged_frame_with_verdict": FORGE
    + WALK
    + """
    def add(a, b):
        nonce = next(seen("request"))["nonce"]
        forge(f'{nonce} {{"pending": [], "passed": [true, true, true]}} {nonce}\\n'.encode())
        os._exit(0)
    """,
    "forged_frame_with_bomb": FORGE
    + WALK
    + """
    def add(a, b):
        nonce = next(seen("request"))["nonce"]
        forge(f'{nonce} {{"value": {"[" * 100_000}}} {nonce}\\n'.encode())
        os._exit(0)
    """,
    "forged_frame_with_too_many_items": FORGE
    + WALK
    + """
    def add(a, b):
        nonce = next(seen("request"))["nonce"]
        forge(f'{nonce} {{"value": [{"0," * 200_000}0]}} {nonce}\\n'.encode())
        os._exit(0)
    """,
    "forged_frame_with_nested_message": FORGE
    + WALK
    + """
    def add(a, b):
        nonce = next(seen("request"))["nonce"]
        deep = "[" * 900 + "]" * 900
        forge(f'{nonce} {{"error": {deep}, "kind": {deep}, "message": {deep}}} {nonce}\\n'.encode())
        os._exit(0)
    """,
    "forged_frame_with_colliding_members": FORGE
    + WALK
    + """
    def add(a, b):
        nonce = next(seen("request"))["nonce"]
        members = ",".join(str(n * (2**61 - 1)) for n in range(40_000))
        forge(f'{nonce} {{"value": {{"$set": [{members}]}}}} {nonce}\\n'.encode())
        os._exit(0)
    """,
    "deepest_value": """
        def add(a, b):
            v = []
            for _ in range(60): v = [v]
            return v
        """,
    "patched_harness": WALK
    + """
    def add(a, b):
        import sys
        for space in seen("__builtins__"): pass
        f = sys._getframe(1)
        f.f_globals["encode"] = lambda v: {"$set": [[1]]}
        return a + b
    """,
    "answers_by_two_processes": "import os\ndef add(a, b):\n    os.fork()\n    return a + b",
    "parent_exits": "import os, time\ndef add(a, b):\n    if os.fork(): os._exit(0)\n    time.sleep(5)",
    "frame_walk": WALK
    + """
    def add(a, b):
        for name in ("expected", "tests", "cases", "ASSERTS", "result", "answers", "gold"):
            for value in seen(name): return value
    """,
    "gc_scan": """
        import gc
        def add(a, b):
            for o in gc.get_objects():
                if isinstance(o, dict):
                    for k in ("expected", "tests", "cases", "result", "units"):
                        try:
                            if k in o: return o[k]
                        except Exception: pass
        """,
    "searches_its_memory_for_tests": """
        import gc, sys
        def add(a, b):
            text = repr([o for o in gc.get_objects() if type(o) in (str, list, tuple, dict)][:2000])
            return 3 if "579" in text and a == 1 else None
        """,
    "file_walk": """
        import glob, sys
        def add(a, b):
            names = [*sys.argv[1:], *glob.glob("*"), *glob.glob("/proc/self/fd/*"), "/dev/stdin"]
            for name in names:
                try:
                    text = open(name).read(100_000)
                    if "579" in text: return {1: 3, 10: 6, 123: 579}[a]
                except (OSError, UnicodeDecodeError, ValueError): pass
        """,
    "rereads_stdin": """
        import os
        def add(a, b):
            try: os.lseek(0, 0, 0)
            except OSError: pass
            return os.read(0, 100)
        """,
    "writes_conftest_and_modules": """
        for name in ("conftest.py", "json.py", "tests.py", "sitecustomize.py", "tests.json"):
            try: open(name, "w").write("")
            except OSError: pass
        def add(a, b): return 0
        """,
    "replaced_modules": """
        import sys, types
        fake = types.SimpleNamespace(dumps=lambda *a, **k: "true", loads=lambda *a, **k: True)
        sys.modules["json"] = sys.modules["__main__"] = sys.modules["solution"] = fake
        def add(a, b): return 0
        """,
    "patched_os": """
        import os, sys
        os._exit = sys.exit = lambda *a: None
        os.write = lambda f, d: len(d)
        def add(a, b): return a + b
        """,
    "remembers_calls": """
        calls = []
        def add(a, b):
            calls.append(a)
            return [3, 6, 579][len(calls) - 1]
        """,
}
SLOW_CHEATS = {
    "unbounded_recursion": "import sys\nsys.setrecursionlimit(10**9)\ndef add(a, b): return add(a, b)",
    "signal_alarm": """
        import os, signal, time
        signal.signal(signal.SIGALRM, lambda *a: os._exit(0))
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        def add(a, b): time.sleep(2)
        """,
    "endless": "def add(a, b):\n    while True: pass",
    "endless_at_import": "while True: pass",
}
