# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, told what to do over a pipe (its DevTools protocol, no port is opened)."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


def find():
    """The program, or None."""
    return shutil.which('chromium')


class Failure(Exception):
    """The browser refused a command, a script threw, or nothing came in time."""


class Browser:
    def __init__(self):
        self.folder = tempfile.mkdtemp()
        to_read, self.to = os.pipe()
        self.come, from_write = os.pipe()

        def streams():              # the protocol's pipes are descriptors 3 and 4
            high = os.dup2(from_write, 103)
            os.dup2(to_read, 3)
            os.dup2(high, 4)
            os.close(high)
        self.process = subprocess.Popen(
            [find(), '--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run',
             '--disable-background-networking', '--disable-component-update', '--hide-scrollbars',
             '--force-color-profile=srgb', f'--user-data-dir={self.folder}', '--remote-debugging-pipe'],
            pass_fds=(3, 4), preexec_fn=streams, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, 'HOME': self.folder})
        os.close(to_read)
        os.close(from_write)
        self.number, self.rest, self.events = 0, b'', []

    def close(self):
        try:
            self.send('Browser.close', timeout=10)
        except (Failure, OSError):
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        os.close(self.come)
        shutil.rmtree(self.folder, ignore_errors=True)

    def message(self, until):
        while b'\0' not in self.rest:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.come], [], [], left)[0]:
                raise Failure('the browser says nothing')
            data = os.read(self.come, 1 << 20)
            if not data:
                raise Failure('the browser has ended')
            self.rest += data
        text, self.rest = self.rest.split(b'\0', 1)
        return json.loads(text)

    def send(self, method, session=None, timeout=120, **params):
        self.number += 1
        command = {'id': self.number, 'method': method, 'params': params}
        if session:
            command['sessionId'] = session
        data = json.dumps(command).encode() + b'\0'
        while data:
            data = data[os.write(self.to, data):]
        until = time.monotonic() + timeout
        while True:
            got = self.message(until)
            if got.get('id') == self.number:
                if 'error' in got:
                    raise Failure(f"{method}: {got['error']['message']}")
                return got['result']
            self.events.append(got)

    def page(self, **view):
        return Page(self, **view)


class Page:
    """A tab. Everything it asks the network for and everything that it complains of is kept."""

    def __init__(self, browser, width=1400, height=1000, dark=False):
        self.browser = browser
        target = browser.send('Target.createTarget', url='about:blank')['targetId']
        self.session = browser.send('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
        self.target = target
        for domain in ('Page', 'Runtime', 'Network', 'Log'):
            self.send(domain + '.enable')
        self.send('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.send('Emulation.setEmulatedMedia', features=[
            {'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}])

    def send(self, method, **params):
        return self.browser.send(method, session=self.session, **params)

    def close(self):
        self.browser.send('Target.closeTarget', targetId=self.target)

    def open(self, path, ready="document.documentElement.dataset.drawn !== undefined && document.documentElement.dataset.complete !== undefined"):
        self.send('Page.navigate', url='file://' + path)
        self.wait(ready)

    def run(self, script):
        """The value of an expression."""
        got = self.send('Runtime.evaluate', expression=script, returnByValue=True, awaitPromise=True)
        if 'exceptionDetails' in got:
            raise Failure(str(got['exceptionDetails'].get('exception', {}).get('description', got)))
        return got['result'].get('value')

    def wait(self, condition, timeout=120):
        until = time.monotonic() + timeout
        while True:
            try:
                if self.run(condition):
                    return
            except Failure as failure:          # the old document went away meanwhile
                if time.monotonic() > until:
                    raise failure
            if time.monotonic() > until:
                raise Failure(f'not in time: {condition}')
            time.sleep(0.02)

    def key(self, key, shift=False):
        code = {'Enter': 13, 'Escape': 27, 'ArrowRight': 39, 'ArrowLeft': 37, 'ArrowDown': 40, 'ArrowUp': 38}.get(key, 0)
        for kind in ('keyDown', 'keyUp'):
            self.send('Input.dispatchKeyEvent', type=kind, key=key, code=key, windowsVirtualKeyCode=code, modifiers=8 if shift else 0)

    def drag(self, x, y, to_x, to_y):
        self.mouse(x, y, click=False)
        for kind, at in (('mousePressed', (x, y)), ('mouseMoved', ((x + to_x) / 2, (y + to_y) / 2)), ('mouseMoved', (to_x, to_y)), ('mouseReleased', (to_x, to_y))):
            self.send('Input.dispatchMouseEvent', type=kind, x=at[0], y=at[1], button='left', buttons=1, clickCount=1)

    def wheel(self, x, y, by):
        self.send('Input.dispatchMouseEvent', type='mouseWheel', x=x, y=y, deltaX=0, deltaY=by)

    def mouse(self, x, y, click=True):
        self.send('Input.dispatchMouseEvent', type='mouseMoved', x=x, y=y)
        if click:
            for kind in ('mousePressed', 'mouseReleased'):
                self.send('Input.dispatchMouseEvent', type=kind, x=x, y=y, button='left', clickCount=1)

    def mine(self, method):
        return [e['params'] for e in self.browser.events
                if e.get('method') == method and e.get('sessionId') == self.session]

    def requests(self):
        return [e['request']['url'] for e in self.mine('Network.requestWillBeSent')]

    def complaints(self):
        logs = [e['exceptionDetails'] for e in self.mine('Runtime.exceptionThrown')]
        logs += [e['args'] for e in self.mine('Runtime.consoleAPICalled') if e['type'] in ('error', 'warning', 'assert')]
        logs += [e['entry'] for e in self.mine('Log.entryAdded') if e['entry']['level'] in ('error', 'warning')]
        return [json.dumps(s)[:600] for s in logs]

    def table(self, name, number=0):
        """Rows of a table, each a list of (field, raw value, text) with the row's key in front."""
        return self.run('''[...([...document.querySelectorAll('[data-table="%s"]')][%d] || {querySelectorAll: () => []}).querySelectorAll('tbody tr')]
            .map(tr => [tr.dataset.key || null, ...[...tr.cells].map(td => [td.dataset.field || null,
                td.dataset.value === undefined ? null : td.dataset.value, td.textContent])])''' % (name, number))

    def screenshot(self, path, whole=True):
        data = self.send('Page.captureScreenshot', captureBeyondViewport=whole)['data']
        with open(path, 'wb') as f:
            f.write(base64.b64decode(data))

    def pdf(self):
        return base64.b64decode(self.send('Page.printToPDF', printBackground=True)['data'])
