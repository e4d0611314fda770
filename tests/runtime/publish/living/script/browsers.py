"""Drives real browsers over WebDriver BiDi: opens pages, sends events, and notes complaints.

Firefox speaks the protocol itself, Chromium through Debian's chromedriver. Tests wait for what a
browser says, however long it works; one that says nothing at all for ``_SILENCE`` is hung.
"""

from __future__ import annotations

import base64
import contextlib
import json
import shutil
import subprocess
import tempfile
import threading
import urllib.request
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, Any

import pytest

_SILENCE = 180.0
"""Seconds without a word after which a browser is taken to be hung."""
_END = ""
"""In place of a line where a program writes no more."""
Source = dict[str, Any]
_NO_NETWORK = {
    "browser.startup.homepage_override.mstone": "ignore",
    "app.normandy.enabled": False,
    "app.update.disabledForTesting": True,
    "browser.download.useDownloadDir": True,
    "browser.download.folderList": 2,
    "datareporting.policy.dataSubmissionEnabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "services.settings.server": "data:,",
    "toolkit.telemetry.server": "",
    "remote.active-protocols": 1,
}
KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "ArrowLeft": "\ue012", "ArrowUp": "\ue013",
        "ArrowRight": "\ue014", "ArrowDown": "\ue015", "Home": "\ue011", "End": "\ue010",
        "Space": " ", "Tab": "\ue004", "Shift": "\ue008", "Control": "\ue009"}  # fmt: skip


_PLACE = """(e) => {
  if (e.closest('aside')) e.scrollIntoView({block: 'nearest'});
  const line = e.querySelector(':scope > .wire'), box = e.getBoundingClientRect();
  if (!line) return [box.left + box.width / 2, box.top + box.height / 2];
  const middle = line.getPointAtLength(line.getTotalLength() / 2);
  const at = middle.matrixTransform(line.getScreenCTM());
  return [at.x, at.y];
}"""


class Browser:
    """One headless browser with one page, which events go to.

    ``complaints`` are errors and warnings of the page's console, ``requests`` the addresses asked
    for. Raises AssertionError where the browser reports an error.
    """

    def __init__(self, name: str) -> None:
        websockets = pytest.importorskip("websockets.sync.client")
        self._closed = pytest.importorskip("websockets.exceptions").ConnectionClosed
        self.name = name
        self.folder = tempfile.mkdtemp(prefix="page_test_")
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self._session = ""
        self._answers: dict[int, dict[str, Any]] = {}
        self._count = 0
        with contextlib.ExitStack() as undo:
            undo.callback(shutil.rmtree, self.folder, ignore_errors=True)
            address = self._start_firefox(undo) if name == "firefox" else self._start_chromium(undo)
            # Pings would come from a thread that draws from `random`, while other tests run that
            # must find it as they left it; and a busy machine would miss one.
            self._socket = undo.enter_context(
                websockets.connect(
                    address,
                    open_timeout=_SILENCE,
                    ping_interval=None,
                    max_size=None,
                    compression=None,
                )
            )
            if name == "firefox":
                self._ask("session.new", capabilities={})
                undo.callback(self._ask, "browser.close")
            tree = self._ask("browsingContext.getTree")
            self.page = tree["contexts"][0]["context"]
            self._ask("session.subscribe", events=["log.entryAdded", "network.beforeRequestSent"])
            self._undo = undo.pop_all()

    def close(self) -> None:
        """End the browser and remove its files."""
        self._undo.close()

    # ---- starting ----

    def _start_firefox(self, undo: contextlib.ExitStack) -> str:
        program = shutil.which("firefox-esr") or shutil.which("firefox")
        if program is None:
            pytest.skip("needs Firefox")
        prefs = _NO_NETWORK | {"browser.download.dir": self.folder}
        lines = [
            f"user_pref({json.dumps(key)}, {json.dumps(value)});" for key, value in prefs.items()
        ]
        Path(self.folder, "user.js").write_text("\n".join(lines))
        line = self._start(
            undo, "WebDriver BiDi listening on ",
            program, "--headless", "--no-remote", "--profile", self.folder,
            "--remote-debugging-port", "0",
        )  # fmt: skip
        return line.rpartition(" ")[2].strip() + "/session"

    def _start_chromium(self, undo: contextlib.ExitStack) -> str:
        driver = shutil.which("chromedriver")
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        if driver is None or chromium is None:
            pytest.skip("needs Chromium and its driver")
        line = self._start(undo, "was started successfully on port ", driver, "--port=0")
        port = line.rpartition("port ")[2].strip().rstrip(".")
        self._driver = f"http://127.0.0.1:{port}/session"
        switches = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                    "--disable-dev-shm-usage",
                    f"--user-data-dir={self.folder}/profile"]  # fmt: skip
        prefs = {"download.default_directory": self.folder}
        options = {"binary": chromium, "args": switches, "prefs": prefs}
        wanted = {"alwaysMatch": {"webSocketUrl": True, "goog:chromeOptions": options}}
        found = self._post(self._driver, {"capabilities": wanted})["value"]
        undo.callback(self._delete, f"{self._driver}/{found['sessionId']}")
        return str(found["capabilities"]["webSocketUrl"])

    def _start(self, undo: contextlib.ExitStack, text: str, *command: str) -> str:
        """Start a program and return the line it writes with ``text``."""
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        )
        undo.callback(_end, process)
        lines = SimpleQueue[str]()
        threading.Thread(target=_follow, args=(process.stdout, lines), daemon=True).start()
        said = [""]
        while text not in said[-1]:
            try:
                said.append(lines.get(timeout=_SILENCE))
            except Empty:
                said.append(_END)
            assert said[-1] != _END, f"{self.name} did not start:\n{''.join(said)[-2000:]}"
        return said[-1]

    @staticmethod
    def _post(address: str, body: Any) -> Any:
        request = urllib.request.Request(address, json.dumps(body).encode(), method="POST")
        with urllib.request.urlopen(request, timeout=_SILENCE) as answer:
            return json.load(answer)

    @staticmethod
    def _delete(address: str) -> None:
        request = urllib.request.Request(address, method="DELETE")
        urllib.request.urlopen(request, timeout=_SILENCE).close()

    # ---- the protocol ----

    def _ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._count += 1
        number = self._count
        self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while number not in self._answers:
            self._receive(f"an answer to {method} {params}")
        found = self._answers.pop(number)
        assert found["type"] == "success", f"{method}: {found.get('error')}: {found.get('message')}"
        return dict(found["result"])

    def _receive(self, wanted: str) -> None:
        """Wait for the next thing the browser says; ``wanted`` says what for, if it is hung."""
        try:
            message = json.loads(self._socket.recv(timeout=_SILENCE))
        except (TimeoutError, self._closed) as error:
            raise AssertionError(
                f"{self.name} was to give {wanted[:500]}, and said nothing more: {error!r}; "
                f"complaints of the page: {self.complaints}"
            ) from error
        if message.get("id") is not None:
            self._answers[message["id"]] = message
        elif message["method"] == "log.entryAdded":
            entry = message["params"]
            if entry["level"] in ("error", "warn"):
                self.complaints.append(str(entry["text"]))
        elif message["method"] == "network.beforeRequestSent":
            self.requests.append(message["params"]["request"]["url"])

    # ---- what tests do ----

    def open(self, path: Path, width: int = 1280, height: int = 800) -> None:
        """Open a file, in a window of so many px."""
        size = {"width": width, "height": height}
        self._ask("browsingContext.setViewport", context=self.page, viewport=size)
        self._ask("browsingContext.navigate", context=self.page, url=path.as_uri(), wait="complete")

    def before(self, code: str) -> str:
        """Run a function in every page before its own scripts; returns what ``forget`` takes."""
        found = self._ask("script.addPreloadScript", functionDeclaration=code)
        return str(found["script"])

    def forget(self, script: str) -> None:
        """No longer run what ``before`` was given."""
        self._ask("script.removePreloadScript", script=script)

    def run(self, code: str) -> Any:
        """The value of a JavaScript expression, as JSON; awaited if it is a promise."""
        found = self._ask(
            "script.evaluate",
            expression=f"Promise.resolve({code}).then((x) => JSON.stringify(x ?? null))",
            target={"context": self.page},
            awaitPromise=True,
        )
        assert found["type"] == "success", found.get("exceptionDetails", {}).get("text")
        return json.loads(found["result"]["value"])

    def until(self, code: str) -> None:
        """Wait until a JavaScript expression is true; the page looks at each of its frames."""
        self.run(
            f"(async () => {{ while (!({code})) await new Promise(requestAnimationFrame); }})()"
        )

    def expect_complaint(self) -> None:
        """Wait for one complaint, and forget it."""
        while not self.complaints:
            self._receive("a complaint")
        self.complaints.clear()

    def place(self, selector: str) -> tuple[int, int]:
        """The middle of the first element that a selector finds, scrolled into view.

        Of a wire it is the middle of its line.
        """
        x, y = self.run(f"({_PLACE})(document.querySelector({json.dumps(selector)}))")
        return round(x), round(y)

    def text(self, selector: str) -> str:
        """The text of the first element that a selector finds; empty if there is none."""
        return str(self.run(f"document.querySelector({json.dumps(selector)})?.textContent ?? ''"))

    def count(self, selector: str) -> int:
        """How many elements a selector finds."""
        return int(self.run(f"document.querySelectorAll({json.dumps(selector)}).length"))

    def perform(self, *sources: dict[str, Any]) -> None:
        """Perform input actions, as WebDriver names them."""
        self._ask("input.performActions", context=self.page, actions=list(sources))

    def click(self, selector: str, count: int = 1) -> None:
        """Click on the middle of an element."""
        self.click_at(*self.place(selector), count=count)

    def click_at(self, x: int, y: int, count: int = 1) -> None:
        """Move the mouse to a place and click there."""
        press = [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        self.mouse({"type": "pointerMove", "x": x, "y": y}, *press * count)

    def drag(self, start: tuple[int, int], end: tuple[int, int], kind: str = "mouse") -> None:
        """Press at one place, move to the other in steps, and release."""
        steps = [
            {"type": "pointerMove", "x": round(start[0] + (end[0] - start[0]) * i / 5),
             "y": round(start[1] + (end[1] - start[1]) * i / 5)}
            for i in range(1, 6)
        ]  # fmt: skip
        self.mouse(
            {"type": "pointerMove", "x": start[0], "y": start[1]},
            {"type": "pointerDown", "button": 0},
            *steps,
            {"type": "pointerUp", "button": 0},
            kind=kind,
        )

    def mouse(self, *actions: dict[str, Any], kind: str = "mouse", name: str = "pointer") -> None:
        """Perform pointer actions."""
        self.perform(self.pointer(*actions, kind=kind, name=name))

    @staticmethod
    def pointer(*actions: dict[str, Any], kind: str, name: str) -> dict[str, Any]:
        """One pointer with its actions; several of them make a pinch."""
        parameters = {"pointerType": kind}
        return {"type": "pointer", "id": name + kind, "parameters": parameters, "actions": actions}

    def wheel(self, selector: str, by: int) -> None:
        """Turn the wheel over an element; positive is towards the reader."""
        x, y = self.place(selector)
        turn = {"type": "scroll", "x": x, "y": y, "deltaX": 0, "deltaY": by}
        self.perform({"type": "wheel", "id": "wheel", "actions": [turn]})

    def press(self, *keys: str) -> None:
        """Press keys one after the other; ``Shift+ArrowLeft`` holds one."""
        actions = []
        for key in keys:
            held = key.split("+") if len(key) > 1 else [key]
            codes = [KEYS.get(each, each) for each in held]
            actions += [{"type": "keyDown", "value": code} for code in codes]
            actions += [{"type": "keyUp", "value": code} for code in reversed(codes)]
        self.perform({"type": "key", "id": "keys", "actions": actions})

    def screenshot(self, path: Path) -> None:
        """Write a picture of the window."""
        found = self._ask("browsingContext.captureScreenshot", context=self.page)
        path.write_bytes(base64.b64decode(found["data"]))

    def printed(self) -> bytes:
        """The page as PDF."""
        return base64.b64decode(self._ask("browsingContext.print", context=self.page)["data"])


def _follow(stream: IO[str], lines: SimpleQueue[str]) -> None:
    """Pass on lines as they are written, to the end: a program stops at a pipe that is full."""
    with stream:
        for line in stream:
            lines.put(line)
    lines.put(_END)


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_SILENCE)
        return
    process.kill()
