import { Suspense, useEffect } from 'react';
import { findSession, signOut } from '../api/client';
import { text } from '../text';
import { Button } from '../ui/Button';
import './app.css';
import { matchPath, Link, useAddress } from './router';
import { hrefOf, routeOf, routes, sections, type Section } from './routes';
import { ProjectChoice } from './ProjectChoice';
import { useSession } from './session';
import { SignIn } from './SignIn';
import { useTheme } from './theme';

// Where a page puts what belongs into the head, such as the name of a document and the one action that matters.
export const headPlace = 'head-place';

// A door with an arrow out of it.
const SignOutMark = () => (
  <svg width="15" height="15" viewBox="0 0 16 16" fill="none" stroke="currentColor" strokeWidth="1.5" strokeLinecap="round" strokeLinejoin="round" aria-hidden>
    <path d="M6.5 2.5h-3a1 1 0 0 0-1 1v9a1 1 0 0 0 1 1h3M10.5 11l3-3-3-3M13 8H6.5" />
  </svg>
);

function Head({ section }: { section: Section | null }) {
  const session = useSession((state) => state.session);
  const { theme, toggle } = useTheme();
  const other = theme === 'dark' ? text.app.light : text.app.dark;
  return (
    <header className="head">
      <a className="hidden" href="#page">{text.app.skip}</a>
      <span className="mark" />
      <span className="name">{text.app.name}</span>
      <nav aria-label={text.app.navigation}>
        {sections.map((each) => (
          <Link key={each.section} href={hrefOf(each.section, each.href)} className={each.section === section ? 'on' : ''} aria-current={each.section === section ? 'page' : undefined}>
            {text.app.pages[each.section]}
          </Link>
        ))}
      </nav>
      <div id={headPlace} className="head-place" />
      <ProjectChoice />
      <Button kind="quiet" aria-label={other} title={other} onClick={toggle}>{theme === 'dark' ? '☀' : '☾'}</Button>
      <Button kind="quiet" aria-label={text.app.signOut} title={session ? `${text.app.signOut} (${text.app.signedInAs(session.name, session.role)})` : text.app.signOut} onClick={() => void signOut()}><SignOutMark /></Button>
    </header>
  );
}

function Page({ address }: { address: string }) {
  const path = address.split('?')[0]!;
  for (const route of routes) {
    const parts = matchPath(route.pattern, path);
    if (parts) return <route.page {...parts} />;
  }
  return (
    <div className="lone">
      <p>{text.app.notFound}</p>
      <Link href="/">{text.app.toCanvas}</Link>
    </div>
  );
}

export function App() {
  const address = useAddress();
  const { standing, isOffline } = useSession();
  useEffect(() => void findSession(), []);
  if (standing === 'none' || standing === 'ended') return <SignIn />;
  if (standing === 'unknown') return <div className="lone">{isOffline ? text.app.offline : text.app.loading}</div>;
  const path = address.split('?')[0]!;
  const route = routeOf(path);
  return (
    <div className="app">
      <Head section={route?.section ?? null} />
      {isOffline && <div className="offline" role="status">{text.app.offline}</div>}
      <main id="page" className="page" tabIndex={-1}>
        <Suspense fallback={<div className="lone">{text.app.loading}</div>}>
          <Page address={address} />
        </Suspense>
      </main>
    </div>
  );
}
