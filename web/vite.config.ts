import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

// No source maps, dates or paths of a machine in what is built: the same sources give the same bytes.
export default defineConfig({
  plugins: [react()],
  build: {
    target: 'es2022',
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
});
