import { create } from 'zustand';

export type Theme = 'light' | 'dark';
const key = 'stoker-theme';
const dark = window.matchMedia('(prefers-color-scheme: dark)');

function chosen(): Theme | null {
  const kept = localStorage.getItem(key);
  return kept === 'light' || kept === 'dark' ? kept : null;
}

function apply(theme: Theme): Theme {
  document.documentElement.dataset.theme = theme;
  return theme;
}

interface ThemeState {
  theme: Theme;
  toggle: () => void;
}

// Follows the system until a person chooses.
export const useTheme = create<ThemeState>((set, get) => ({
  theme: apply(chosen() ?? (dark.matches ? 'dark' : 'light')),
  toggle: () => {
    const theme = get().theme === 'dark' ? 'light' : 'dark';
    localStorage.setItem(key, theme);
    set({ theme: apply(theme) });
  },
}));

dark.addEventListener('change', () => {
  if (!chosen()) useTheme.setState({ theme: apply(dark.matches ? 'dark' : 'light') });
});
