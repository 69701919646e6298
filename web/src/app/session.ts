import { create } from 'zustand';
import { takeProjectsOf, useProject, type ProjectOfSession } from './project';

export interface Session {
  name: string;
  role: 'viewer' | 'user' | 'admin'; // the highest of those in its projects
  projects: ProjectOfSession[];
  csrf_token?: string;
}

interface SessionState {
  // unknown: not asked yet; ended: there was one, and it is no longer good
  standing: 'unknown' | 'none' | 'ended' | 'open';
  session: Session | null;
  isOffline: boolean;
}

export const useSession = create<SessionState>(() => ({ standing: 'unknown', session: null, isOffline: false }));

useSession.subscribe((now, before) => {
  if (now.session !== before.session) takeProjectsOf(now.session);
});

// In the project that one works in.
export function mayChange(session: Session | null): boolean {
  const role = useProject.getState().project?.role;
  return session !== null && role !== undefined && role !== 'viewer';
}
