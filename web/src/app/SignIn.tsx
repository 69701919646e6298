import { useState, type FormEvent } from 'react';
import { sentenceOf, signIn } from '../api/client';
import { text } from '../text';
import { Button } from '../ui/Button';
import { Field } from '../ui/Field';
import { useSession } from './session';

export function SignIn() {
  const ended = useSession((state) => state.standing === 'ended');
  const [token, setToken] = useState('');
  const [error, setError] = useState('');
  const [isBusy, setBusy] = useState(false);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const given = token.trim();
    if (!given) return setError(text.signIn.needed);
    setBusy(true);
    try {
      await signIn(given);
    } catch (failure) {
      setError(sentenceOf(failure));
    }
    setBusy(false);
  };

  return (
    <main className="sign-in">
      <form onSubmit={submit} noValidate>
        <div className="row"><span className="mark" /><h1>{text.signIn.title}</h1></div>
        {ended && <p className="notice plain">{text.signIn.again}</p>}
        <Field label={text.signIn.token} help={text.signIn.explanation} error={error}>
          {(given) => (
            <input {...given} className="input" type="password" autoComplete="current-password" autoFocus value={token} onChange={(event) => setToken(event.target.value)} />
          )}
        </Field>
        <Button kind="go" type="submit" disabled={isBusy}>{text.signIn.button}</Button>
      </form>
    </main>
  );
}
