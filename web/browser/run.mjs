// node run.mjs STOKER TEST…: runs files of tests with Node's own runner against a real service and browser.
// Ends with 77, which counts as skipped, where there is no browser.
import { existsSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { findBrowser } from './browser.mjs';

const [stoker, ...files] = process.argv.slice(2);
if (!existsSync(stoker)) throw new Error(`${stoker} is not there`);
if (!findBrowser()) {
  console.log('skipped: there is no Chromium on the path; tools/setup installs it where there is apt');
  process.exit(77);
}
const ran = spawnSync(process.execPath, ['--test', '--test-concurrency=1', ...files], {
  stdio: 'inherit',
  env: { ...process.env, STOKER: stoker },
});
process.exit(ran.status ?? 1);
