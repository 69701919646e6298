import { useSyncExternalStore, type AnchorHTMLAttributes, type MouseEvent } from 'react';

const listeners = new Set<() => void>();

function tellAll() {
  for (const each of listeners) each();
}
window.addEventListener('popstate', tellAll);

export function navigate(to: string, { replace = false } = {}) {
  if (to === location.pathname + location.search) return;
  history[replace ? 'replaceState' : 'pushState'](null, '', to);
  tellAll();
}

// Path and query of the address.
export function useAddress(): string {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => location.pathname + location.search,
  );
}

export function useQuery(name: string): string | null {
  return new URLSearchParams(useAddress().split('?')[1] ?? '').get(name);
}

// "/jobs/{id}" and "/jobs/7" give { id: "7" }; null: it is another.
export function matchPath(pattern: string, path: string): Record<string, string> | null {
  const wanted = pattern.split('/');
  const given = path.split('/');
  if (wanted.length !== given.length) return null;
  const found: Record<string, string> = {};
  for (const [place, part] of wanted.entries()) {
    const value = given[place]!;
    if (part.startsWith('{')) {
      if (!value) return null;
      found[part.slice(1, -1)] = decodeURIComponent(value);
    } else if (part !== value) {
      return null;
    }
  }
  return found;
}

export function Link({ href, onClick, ...rest }: AnchorHTMLAttributes<HTMLAnchorElement> & { href: string }) {
  const follow = (event: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(event);
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    navigate(href);
  };
  return <a href={href} onClick={follow} {...rest} />;
}
