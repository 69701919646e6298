import { lazy, type ComponentType } from 'react';

export type Section = 'canvas' | 'jobs' | 'runs' | 'data' | 'models';

export interface PageRoute {
  pattern: string; // those of src/serve/page_routes.cpp
  section: Section;
  page: ComponentType<{ id?: string }>;
}

const canvas = lazy(() => import('../canvas/CanvasPage'));
const jobs = lazy(() => import('../pages/JobsPage'));
const runs = lazy(() => import('../pages/RunsPage'));
const compare = lazy(() => import('../pages/ComparePage'));
const sweep = lazy(() => import('../pages/SweepPage'));
const data = lazy(() => import('../pages/DataPage'));
const models = lazy(() => import('../pages/ModelsPage'));

export const routes: PageRoute[] = [
  { pattern: '/', section: 'canvas', page: canvas },
  { pattern: '/documents/{id}', section: 'canvas', page: canvas },
  { pattern: '/jobs', section: 'jobs', page: jobs },
  { pattern: '/jobs/{id}', section: 'jobs', page: jobs },
  { pattern: '/runs', section: 'runs', page: runs },
  { pattern: '/runs/{id}', section: 'runs', page: runs },
  { pattern: '/compare', section: 'runs', page: compare },
  { pattern: '/sweeps/{id}', section: 'jobs', page: sweep },
  { pattern: '/data', section: 'data', page: data },
  { pattern: '/data/{id}', section: 'data', page: data },
  { pattern: '/models', section: 'models', page: models },
  { pattern: '/models/{id}', section: 'models', page: models },
];

export const sections: { section: Section; href: string }[] = [
  { section: 'canvas', href: '/' },
  { section: 'jobs', href: '/jobs' },
  { section: 'runs', href: '/runs' },
  { section: 'data', href: '/data' },
  { section: 'models', href: '/models' },
];
