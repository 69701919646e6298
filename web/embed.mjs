// node embed.mjs FOLDER page_files.cpp: writes the files of a built page as a C++ file (src/serve/http/page_files.h).
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';

const types = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};

const [folder, target] = process.argv.slice(2);
const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name).slice(folder.length))
  .sort();

const arrays = [];
const rows = [];
for (const [number, path] of paths.entries()) {
  const type = types[extname(path)];
  if (!type) throw new Error(`${path}: no type is known for this ending`);
  const content = readFileSync(join(folder, path));
  const bytes = path === '/index.html' ? content : gzipSync(content, { level: 9 });
  const tag = createHash('sha256').update(content).digest('hex').slice(0, 20);
  const lines = [];
  for (let at = 0; at < bytes.length; at += 32) lines.push([...bytes.subarray(at, at + 32)].join(','));
  arrays.push(`constexpr unsigned char bytes_${number}[] = {\n${lines.join(',\n')}};\n`);
  rows.push(`    {"${path}", "${type}", "${tag}", {reinterpret_cast<const char*>(bytes_${number}), ${bytes.length}}},\n`);
}
writeFileSync(
  target,
  `// Made by web/embed.mjs.\n#include "serve/http/page_files.h"\n\nnamespace stoker::serve {\nnamespace {\n\n${arrays.join('\n')}\n}  // namespace\n\n` +
    `std::span<const PageFile> page_files() {\n  static const PageFile files[]{\n${rows.join('')}  };\n  return files;\n}\n\n}  // namespace stoker::serve\n`,
);
