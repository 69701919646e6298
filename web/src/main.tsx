import { createRoot } from 'react-dom/client';
import { App } from './app/App';
import { routeOf } from './app/routes';
import './ui/tokens.css';
import './ui/ui.css';

// While the service is asked who one is.
void routeOf(location.pathname)?.load();
createRoot(document.getElementById('root')!).render(<App />);
