import { after, before } from 'node:test';
import { launchBrowser } from './browser.mjs';
import { Service } from './service.mjs';

// One service and one browser for the tests of a file.
export function withService(options = []) {
  const parts = {};
  before(async () => {
    parts.service = await Service.start(options);
    parts.browser = await launchBrowser();
  });
  after(async () => {
    await parts.browser?.close();
    await parts.service?.end();
  });
  return parts;
}
