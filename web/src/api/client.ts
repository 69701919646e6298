import { inProject } from '../app/project';
import { useSession, type Session } from '../app/session';
import { text } from '../text';

export interface Problem {
  message: string;
  path: string;
  line?: number;
}

// An answer that is an error, with the service's own sentence.
export class ApiError extends Error {
  constructor(
    readonly status: number, // 0: no answer came
    message: string,
    readonly answer: Record<string, unknown> = {},
  ) {
    super(message);
  }
  get problems(): Problem[] {
    return (this.answer.problems as Problem[] | undefined) ?? [];
  }
}

export function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

interface Asking {
  body?: unknown; // sent as JSON, unless it is text or a file with a type of its own
  type?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

let watching: ReturnType<typeof setTimeout> | null = null;

function serviceIsBack() {
  if (watching) clearTimeout(watching);
  watching = null;
  if (useSession.getState().isOffline) useSession.setState({ isOffline: false });
}

// Once no answer came, asks until one does.
function serviceIsGone() {
  if (!useSession.getState().isOffline) useSession.setState({ isOffline: true });
  if (watching) return;
  const again = () => {
    fetch('/healthz', { cache: 'no-store' }).then(
      (answer) => {
        if (answer.ok) return serviceIsBack();
        watching = setTimeout(again, 1000);
      },
      () => {
        watching = setTimeout(again, 1000);
      },
    );
  };
  watching = setTimeout(again, 1000);
}

async function errorOf(answer: Response): Promise<ApiError> {
  let told: Record<string, unknown> = {};
  try {
    told = (await answer.json()) as Record<string, unknown>;
  } catch {
    // An answer without a sentence, from something between here and the service.
  }
  const sentence = typeof told.error === 'string' ? told.error : text.errors.status(answer.status);
  return new ApiError(answer.status, sentence, told);
}

// The bare answer, of any type; throws ApiError for what is no success.
export async function ask(method: string, path: string, asking: Asking = {}): Promise<Response> {
  const headers: Record<string, string> = { ...asking.headers };
  const csrf = useSession.getState().session?.csrf_token;
  if (csrf && method !== 'GET') headers['X-CSRF-Token'] = csrf;
  let body: BodyInit | null = null;
  if (asking.body !== undefined) {
    headers['Content-Type'] = asking.type ?? 'application/json';
    body = asking.type ? (asking.body as BodyInit) : JSON.stringify(asking.body);
  }
  let answer: Response;
  try {
    answer = await fetch(inProject(path), { method, headers, body, cache: 'no-store', ...(asking.signal ? { signal: asking.signal } : {}) });
  } catch (error) {
    if (asking.signal?.aborted) throw error;
    serviceIsGone();
    throw new ApiError(0, text.errors.offline);
  }
  serviceIsBack();
  if (answer.ok) return answer;
  if (answer.status === 401 && path !== '/api/session') sessionEnded();
  throw await errorOf(answer);
}

export async function askJson<Answer>(method: string, path: string, asking: Asking = {}): Promise<Answer> {
  return (await (await ask(method, path, asking)).json()) as Answer;
}

export const get = <Answer>(path: string, signal?: AbortSignal) => askJson<Answer>('GET', path, signal ? { signal } : {});
export const post = <Answer>(path: string, body: unknown = {}) => askJson<Answer>('POST', path, { body });
export const patch = <Answer>(path: string, body: unknown) => askJson<Answer>('PATCH', path, { body });
export const put = <Answer>(path: string, body: unknown) => askJson<Answer>('PUT', path, { body });
export const remove = <Answer>(path: string) => askJson<Answer>('DELETE', path);

export function sessionEnded() {
  const { standing } = useSession.getState();
  useSession.setState({ standing: standing === 'open' || standing === 'ended' ? 'ended' : 'none', session: null });
}

// Who one is, when the page is opened.
export async function findSession(): Promise<void> {
  try {
    useSession.setState({ session: await get<Session>('/api/session'), standing: 'open' });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.status === 401) sessionEnded();
    else setTimeout(() => void findSession(), 1000);
  }
}

export async function signIn(token: string): Promise<void> {
  useSession.setState({ session: await post<Session>('/api/session', { token }), standing: 'open' });
}

export async function signOut(): Promise<void> {
  await remove('/api/session');
  useSession.setState({ session: null, standing: 'none' });
}
