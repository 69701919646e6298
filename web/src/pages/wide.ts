import { useSyncExternalStore } from 'react';

const wide = window.matchMedia('(min-width: 1001px)'); // as in app.css

// Whether the inspector stands beside the list, not below it.
export function useIsWide(): boolean {
  return useSyncExternalStore(
    (listener) => {
      wide.addEventListener('change', listener);
      return () => wide.removeEventListener('change', listener);
    },
    () => wide.matches,
  );
}
