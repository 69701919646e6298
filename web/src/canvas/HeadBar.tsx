import { HeadPlace } from '../app/HeadPlace';
import { mayChange, useSession } from '../app/session';
import { nameOf, renameDocument } from '../core/document';
import { text } from '../text';
import { Button } from '../ui/Button';
import { check, editDocument, isChanged, say, useCanvas } from './canvas_store';
import { isUnderWay, startRun, stopRun, useRun } from './run_store';
import { save } from './saving';

export function HeadBar() {
  const state = useCanvas();
  const { state: running, isStopping } = useRun();
  const { session, isOffline } = useSession();
  const changed = isChanged(state);
  const standing = state.isSaving ? text.head.saving : changed ? (isOffline ? text.head.kept : text.head.unsaved) : state.version > 0 ? text.head.saved : '';
  const look = async () => {
    const checked = await check();
    if (checked) say(checked.valid ? text.canvas.fine : text.canvas.problems(checked.problems.length), !checked.valid);
  };
  const may = mayChange(session);
  return (
    <HeadPlace>
      <input className="input document-name" aria-label={text.head.name} value={nameOf(state.history.now)} onChange={(event) => editDocument((now) => renameDocument(now, event.target.value), 'name')} />
      <span className="secondary standing" role="status">{standing}</span>
      <Button onClick={() => void look()}>{text.head.check}</Button>
      <Button disabled={!may || !changed || state.isSaving} onClick={() => void save()}>{text.head.save}</Button>
      {isUnderWay(running)
        ? <Button disabled={isStopping} onClick={() => void stopRun()}>{isStopping ? text.head.stopping : text.head.stop}</Button>
        : <Button kind="go" disabled={!may || !state.isLoaded} onClick={() => void startRun()}>{text.head.runAll}</Button>}
    </HeadPlace>
  );
}
