import { defineConfig } from 'vitest/config';

// No test fails because the machine is busy; an hour only ends one that hangs.
const anHour = 3_600_000;

export default defineConfig({ test: { include: ['src/**/*.test.ts'], environment: 'node', testTimeout: anHour, hookTimeout: anHour, teardownTimeout: anHour } });
