// The real service in a process of its own, on a free port, with a temporary data folder.
import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

async function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

export class Service {
  static async start(options = []) {
    const service = new Service();
    service.options = options;
    service.folder = mkdtempSync(join(tmpdir(), 'stoker-web-'));
    service.port = await freePort();
    await service.begin();
    return service;
  }

  // Again after kill(), on the same port, so that pages that are open find it.
  async begin() {
    const { STOKER } = process.env;
    this.process = spawn(STOKER, ['serve', '--port', String(this.port), '--data', join(this.folder, 'data'), '--requests-per-second', '0', ...this.options], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.said = '';
    this.process.stderr.on('data', (text) => (this.errors = (this.errors ?? '') + text));
    await new Promise((resolve, reject) => {
      this.process.once('exit', (code) => reject(new Error(`the service ended with ${code}: ${this.errors}`)));
      this.process.stdout.on('data', (text) => {
        this.said += text;
        if (this.token ? /http:/.test(this.said) : /stk_\w+/.test(this.said)) resolve();
      });
    });
    this.url = `http://127.0.0.1:${this.port}`;
    this.token ??= /stk_\w+/.exec(this.said)[0];
  }

  async ask(method, path, body) {
    const answer = await fetch(this.url + path, {
      method,
      headers: { Authorization: `Bearer ${this.token}`, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text ? JSON.parse(text) : null;
  }

  async ended() {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    await new Promise((resolve) => this.process.once('exit', resolve));
  }

  async kill() {
    this.process.removeAllListeners('exit');
    this.process.kill('SIGKILL');
    await this.ended();
  }

  // Ends the processes of its jobs too, which would outlive it.
  async end() {
    this.process.removeAllListeners('exit');
    this.process.kill('SIGTERM');
    await this.ended();
    const jobs = join(this.folder, 'data', 'jobs');
    let names = [];
    try {
      names = readdirSync(jobs);
    } catch {
      // There were none.
    }
    for (const name of names) {
      try {
        const group = Number(readFileSync(join(jobs, name, 'lock'), 'utf8'));
        if (group > 1) process.kill(-group, 'SIGKILL');
      } catch {
        // It is gone already.
      }
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}
