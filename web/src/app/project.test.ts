import { describe, expect, it } from 'vitest';
import { chooseProject, inProject } from './project';

describe('the project of a request', () => {
  it('is named in lists, in what is made, and for datasets and deployments', () => {
    expect(inProject('/api/training/jobs', 'a-1')).toBe('/api/training/jobs?project=a-1');
    expect(inProject('/api/runs?limit=10', 'a-1')).toBe('/api/runs?limit=10&project=a-1');
    expect(inProject('/api/datasets/houses', 'a-1')).toBe('/api/datasets/houses?project=a-1');
    expect(inProject('/api/models/best/predict', 'a-1')).toBe('/api/models/best/predict?project=a-1');
    expect(inProject('/api/models/deployments/best', 'a-1')).toBe('/api/models/deployments/best?project=a-1');
    expect(inProject('/api/documents/validate', 'a-1')).toBe('/api/documents/validate?project=a-1');
    expect(inProject('/api/runs/compare?runs=a,b', 'a-1')).toBe('/api/runs/compare?runs=a,b&project=a-1');
  });

  it('is left to the service for what has an id of its own, and for what is of no project', () => {
    for (const path of ['/api/training/jobs/732942af-c81b-40e6-81ab-12e92eec7216/events', '/api/runs/2026-11-19_10-49-46_small_732942af',
      '/api/documents/26d47f22-4223-45d6-a8bb-b7b1be9474ef', '/api/session', '/api/metrics', '/api/documents/upgrade', '/healthz'])
      expect(inProject(path, 'a-1')).toBe(path);
    expect(inProject('/api/training/jobs', '')).toBe('/api/training/jobs');
  });
});

it('the project that was chosen before comes first, then default', () => {
  const all = [{ id: 'a-1', name: 'a', role: 'viewer' as const }, { id: 'default', name: 'default', role: 'user' as const }];
  expect(chooseProject(all, 'a-1')?.id).toBe('a-1');
  expect(chooseProject(all, 'gone')?.id).toBe('default');
  expect(chooseProject(all.slice(0, 1), null)?.id).toBe('a-1');
  expect(chooseProject([], null)).toBeNull();
});
