import { lazy, type ComponentType } from 'react';
import { matchPath } from './router';

export type Section = 'canvas' | 'jobs' | 'runs' | 'data' | 'models';

export interface PageRoute {
  pattern: string; // those of src/serve/http/page_routes.cpp
  section: Section;
  page: Page;
  load: () => Promise<unknown>;
}

type Page = ComponentType<{ id?: string }>;

// Its code is fetched once, when it is first shown or as soon as the address says that it will be.
function pageOf(load: () => Promise<{ default: Page }>) {
  let loading: ReturnType<typeof load> | null = null;
  const once = () => (loading ??= load());
  return { page: lazy(once), load: once };
}

const canvas = pageOf(() => import('../canvas/CanvasPage'));
const jobs = pageOf(() => import('../pages/JobsPage'));
const runs = pageOf(() => import('../pages/RunsPage'));
const compare = pageOf(() => import('../pages/ComparePage'));
const sweep = pageOf(() => import('../pages/SweepPage'));
const data = pageOf(() => import('../pages/DataPage'));
const models = pageOf(() => import('../pages/ModelsPage'));

export const routes: PageRoute[] = [
  { pattern: '/', section: 'canvas', ...canvas },
  { pattern: '/documents/{id}', section: 'canvas', ...canvas },
  { pattern: '/jobs', section: 'jobs', ...jobs },
  { pattern: '/jobs/{id}', section: 'jobs', ...jobs },
  { pattern: '/runs', section: 'runs', ...runs },
  { pattern: '/runs/{id}', section: 'runs', ...runs },
  { pattern: '/compare', section: 'runs', ...compare },
  { pattern: '/sweeps/{id}', section: 'jobs', ...sweep },
  { pattern: '/data', section: 'data', ...data },
  { pattern: '/data/{id}', section: 'data', ...data },
  { pattern: '/models', section: 'models', ...models },
  { pattern: '/models/{id}', section: 'models', ...models },
];

export const routeOf = (path: string) => routes.find((route) => matchPath(route.pattern, path));

const openKey = 'stoker-open-document';

// Whoever comes back to the canvas from another page finds the document that was open.
export function rememberCanvas(path: string) {
  sessionStorage.setItem(openKey, path);
}
export const hrefOf = (section: Section, href: string): string => (section === 'canvas' ? (sessionStorage.getItem(openKey) ?? href) : href);

export const sections: { section: Section; href: string }[] = [
  { section: 'canvas', href: '/' },
  { section: 'jobs', href: '/jobs' },
  { section: 'runs', href: '/runs' },
  { section: 'data', href: '/data' },
  { section: 'models', href: '/models' },
];
