import { create } from 'zustand';

export interface Session {
  name: string;
  role: 'viewer' | 'user' | 'admin';
  csrf_token?: string;
}

interface SessionState {
  // unknown: not asked yet; ended: there was one, and it is no longer good
  standing: 'unknown' | 'none' | 'ended' | 'open';
  session: Session | null;
  isOffline: boolean;
}

export const useSession = create<SessionState>(() => ({ standing: 'unknown', session: null, isOffline: false }));

export const mayChange = (session: Session | null) => session !== null && session.role !== 'viewer';
