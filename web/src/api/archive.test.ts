import { unzipSync } from 'fflate';
import { expect, test } from 'vitest';
import { archiveName, archiveOf, belongTogether } from './archive';

const file = (name: string, bytes: number[] = []) => new File([new Uint8Array(bytes)], name);

test('files of a cube become one archive that is called by its header', async () => {
  const archive = await archiveOf([file('field.HDR', [69, 78, 86, 73]), file('field.img', [0, 255, 1])]);
  expect(archive.name).toBe('field.zip');
  const packed = new Uint8Array(await archive.arrayBuffer());
  const files = unzipSync(packed);
  expect(Object.keys(files)).toEqual(['field.HDR', 'field.img']);
  expect([...(files['field.img'] ?? [])]).toEqual([0, 255, 1]);
});

test('an archive of many cubes is called cubes, and tables are none', () => {
  expect(archiveName([file('a.hdr'), file('a.img'), file('b.hdr'), file('b.img')])).toBe('cubes.zip');
  expect(belongTogether([file('a.img'), file('a.hdr')])).toBe(true);
  expect(belongTogether([file('a.csv'), file('b.csv')])).toBe(false);
});
