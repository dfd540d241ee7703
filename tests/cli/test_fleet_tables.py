#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests tables of topology and applications, and what a report says without them:
test_fleet_tables.py MKCONNS HOSTLAT"""
import csv
import json
import re
import unittest

from fleet_test import TABLES, FleetTest


class Tables(FleetTest):
    def headline(self, *words):
        return self.fleet('report', *words).split('\n', maxsplit=1)[0]

    def test_an_application_without_topology(self):
        """Losses between some hosts may be those of a path: the headline says so, and what to write."""
        paths = self.racks()
        self.assertRegex(self.headline(*paths), r'\AApplication nginx, or a rack or link that its connections share: .* '
                         r'--topology hosts.csv, a file with the lines "host,rack", "host1,RACK" and so on.\Z')
        self.assertRegex(self.headline(*paths, *TABLES[:2]), r'\AApplication nginx, or a link between racks: .* '
                         r'--topology links.csv, a file with the lines "from,to,link", "rack1,rack2,LINK" and so on.\Z')
        self.assertRegex(self.headline(*paths, *TABLES), r'\ALink uplink: [^"]*\Z')

    def test_one_link(self):
        """A link that is the only one is compared with the connections that do not cross it."""
        uplink = self.write('uplink.csv', 'from,to,link\nrack1,rack2,uplink\n')
        self.assertRegex(self.headline(*self.racks(), *TABLES[:2], '--topology', uplink), r'\ALink uplink: ')

    def test_half_a_topology(self):
        """The doubt stays while hosts are in no rack, and the network's operator sees it."""
        paths = self.racks()
        one = self.write('one.csv', 'host,rack\nhost1,r1\n')
        rack = self.write('rack.csv', 'host,rack\n' + ''.join(f'host{i},r1\n' for i in range(1, 7)))
        self.assertIn(', or a rack or link that', self.headline(*paths, '--topology', one))
        self.assertIn('Application nginx: 18', self.headline(*paths, '--topology', rack))
        self.assertIn('Application nginx, or a rack or link', self.headline(*paths, '--reader', 'network'))
        self.assertIn('Nothing that this reader can change', self.headline(*paths, '--topology', rack, '--reader', 'network'))
        self.assertNotIn('are not tested', self.fleet('report', paths[0]))

    def test_an_application_that_loses_everywhere(self):
        def lose(text):
            return re.sub(r'(comm=nginx (?:(?!fast_retransmit).)*)$', rf'\1 {losses}', text, flags=re.MULTILINE)

        losses = 'fast_retransmit=0|2 recoveries=0|1 bytes_retransmitted=0|2896 stalls=0|1 stall_ns=0s|30ms'
        self.assertRegex(self.headline(*self.racks(lose)), r'\AApplication nginx: [^"]*\Z')

    def test_tables_in_json(self):
        """The same tables give the same report, whether CSV or JSON, one file or two lists of objects."""
        def rows(path):
            with open(path, encoding='utf-8') as file:
                return [{key: value.split() if key == 'addresses' else value or None for key, value in row.items()}
                        for row in csv.DictReader(file)]
        paths, hosts, links = self.racks(), rows(TABLES[1]), rows(TABLES[3])
        rules = [{'application': 'shop', 'command': '*'}]
        together = self.write('tables.json', json.dumps({'links': links, 'hosts': hosts}, indent=1))
        apart = [self.write('hosts.json', json.dumps(hosts)), self.write('links.json', json.dumps(links))]
        expected = self.fleet('report', '--json', *paths, *TABLES, '--apps',
                              self.write('rules.csv', 'application,command\nshop,*\n'))
        self.assertIn('"link"', expected)
        for tables in ([together], apart):
            for table in ({'applications': rules}, rules):
                self.assertEqual(expected, self.fleet(
                    'report', '--json', *paths, *(word for path in tables for word in ('--topology', path)),
                    '--apps', self.write('rules.json', json.dumps(table))))


if __name__ == '__main__':
    unittest.main()
