#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The report page asks for nothing and runs nothing of its data: test_page_policy.py HOSTLAT MKTRACE MKLOAD"""
import http.server
import os
import re
import threading

import browser
import pagedata
from test_page import Case, main

HOSTILE = '</script><script>window.hit=1</script><img src=x onerror="window.hit=1">\u2028\'"`${1}'


class Policy(Case):
    def test_hostile_names(self):
        document = pagedata.diagnose()
        document['hostlat']['host'] = document['findings'][0] = HOSTILE
        for name in ('cause', 'where', 'kind'):
            document['causes'][0][name] = HOSTILE
        document['causes'][1]['cause'] = '__proto__'
        first = document['examples'][0]
        first.update(comm=HOSTILE, local=HOSTILE, id=HOSTILE)
        first['parts'][0]['culprits'] = [{'pid': 1, 'tid': 1, 'comm': HOSTILE, 'message': HOSTILE, 'ns': 3}]
        document['causes'][0]['culprits'] = [{'command': HOSTILE, 'processes': 2, 'messages': 3, 'hostlat': '__proto__', 'ns': 3}]
        first['timeline'][0].update(what=HOSTILE, lane=HOSTILE, cause=HOSTILE)
        document['contexts'][0]['context'] = HOSTILE
        page = self.open(document, {'hostlat': {'command': HOSTILE}, HOSTILE: [{HOSTILE: HOSTILE}], '__proto__': {'a': 1}})
        page.run("document.querySelectorAll('details').forEach(d => d.open = true)")
        page.run("document.querySelector('[data-table=messages] tbody tr').click()")
        self.assertEqual(self.shown_message(page)['id'], HOSTILE)
        self.assertIn(HOSTILE, page.run('document.body.textContent'))
        self.assertEqual(page.run('[typeof window.hit, document.images.length, document.scripts.length, ({}).a === undefined]'),
                         ['undefined', 0, 2, True])
        self.clean(page)

    def test_network_is_forbidden(self):
        asked = []

        class Server(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                asked.append(self.path)
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        server = http.server.HTTPServer(('127.0.0.1', 0), Server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        url = f'http://127.0.0.1:{server.server_port}/'
        tries = f'''Promise.allSettled([fetch('{url}fetch', {{mode: 'no-cors'}}), new Promise((done, refused) => {{
            const i = new Image(); i.onload = i.onerror = done; i.src = '{url}image'; }})]).then(r => r.map(x => x.status))'''
        page = self.open(pagedata.comparison())
        self.clean(page)
        page.run(tries)
        self.assertEqual(asked, [])
        self.assertTrue(any('Content Security Policy' in c for c in page.complaints()))
        with self.assertRaises(browser.Failure):
            page.run("document.body.innerHTML = '<b>x</b>'")
        # The control: without the policy both get through, and are seen.
        with open(page.path, encoding='utf-8') as f:
            text = re.sub('<meta http-equiv="Content-Security-Policy"[^>]*>', '', f.read())
        path = os.path.join(self.temporary.name, 'open.html')
        with open(path, 'w', encoding='utf-8') as f:
            f.write(text)
        page.open(path)
        page.run(tries)
        self.assertEqual(sorted(asked), ['/fetch', '/image'])
        self.assertIn(url + 'image', page.requests())

    def test_policy_knows_the_script(self):
        """The control of the hashes: a script with one letter more isn't run, and that is a complaint."""
        page = self.open(pagedata.comparison())
        with open(page.path, encoding='utf-8') as f:
            text = f.read()
        path = os.path.join(self.temporary.name, 'changed.html')
        with open(path, 'w', encoding='utf-8') as f:
            f.write(text.replace("'use strict';", "'use strict'; ", 1))
        page.open(path, ready="document.readyState === 'complete'")
        self.assertFalse(page.run("'drawn' in document.documentElement.dataset"))
        self.assertTrue(page.complaints())


if __name__ == '__main__':
    main()
