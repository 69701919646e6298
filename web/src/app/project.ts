import { create } from 'zustand';
import type { Session } from './session';

export interface ProjectOfSession {
  id: string;
  name: string;
  role: 'viewer' | 'user' | 'admin';
}

const key = 'stoker-project';

interface ProjectState {
  project: ProjectOfSession | null; // that one works in; null: the token belongs to none
  all: ProjectOfSession[];
}

export const useProject = create<ProjectState>(() => ({ project: null, all: [] }));

// The one that was chosen in this browser, if the token still belongs to it; else the service's own choice.
export function chooseProject(all: ProjectOfSession[], kept: string | null): ProjectOfSession | null {
  return all.find((each) => each.id === kept) ?? all.find((each) => each.id === 'default') ?? all[0] ?? null;
}

export function takeProjectsOf(session: Session | null) {
  const all = session?.projects ?? [];
  useProject.setState({ all, project: chooseProject(all, localStorage.getItem(key)) });
}

// What is opened by its id may be in another project than the one before.
export function enterProject(id: string) {
  const { all, project } = useProject.getState();
  const entered = all.find((each) => each.id === id);
  if (!entered || entered.id === project?.id) return;
  localStorage.setItem(key, id);
  useProject.setState({ project: entered });
}

// Everything on the page belongs to the project before, so the page begins anew.
export function switchProject(id: string) {
  enterProject(id);
  location.assign('/');
}

// Documents, jobs, sweeps, models and runs are found by ids that no other project has.
const hasOwnId = /^\/api\/((documents|training\/jobs|sweeps|models)\/[0-9a-f]{8}-|runs\/\d{4}-)/;
const isOfService = /^\/api\/(session|system|cards|nodes|devices|metrics|projects|documents\/(schema|upgrade))\b/;

// The address of a request with the project that it works in.
export function inProject(path: string, project = useProject.getState().project?.id): string {
  if (!project || !path.startsWith('/api/') || hasOwnId.test(path) || isOfService.test(path)) return path;
  return `${path}${path.includes('?') ? '&' : '?'}project=${project}`;
}
