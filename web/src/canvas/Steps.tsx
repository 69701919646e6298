import { useEffect, useState } from 'react';
import { ApiError, post, sentenceOf } from '../api/client';
import { text } from '../text';
import { Button } from '../ui/Button';
import { currentText, useCanvas } from './canvas_store';
import { Numbers } from './NumbersView';

interface Explained {
  rows: number;
  training_rows: number;
  remarks: string[];
  steps: { step: string; title: string; text: string; [numbers: string]: unknown }[];
}

const rows = 8;

// The first step of a training in its eight parts, with the numbers of a small batch, for those who learn.
export function Steps({ card }: { card: string }) {
  const document = useCanvas((state) => state.history.now);
  const [told, setTold] = useState<Explained | null>(null);
  const [error, setError] = useState('');
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    setTold(null);
    setError('');
  }, [card, document]);
  const look = async () => {
    setBusy(true);
    setError('');
    try {
      setTold(await post<Explained>('/api/documents/step', { content: currentText(), card, rows }));
    } catch (failure) {
      const problem = failure instanceof ApiError ? failure.problems[0] : undefined;
      setError(problem ? `${problem.path}: ${problem.message}` : sentenceOf(failure));
    }
    setBusy(false);
  };
  return (
    <>
      <p className="secondary gap">{text.steps.explanation}</p>
      {!told && <Button className="gap" disabled={isBusy} onClick={() => void look()}>{isBusy ? text.steps.busy : text.steps.look}</Button>}
      {error && <p className="field-error">{error}</p>}
      {told?.remarks.map((remark) => <p key={remark} className="secondary gap">{remark}</p>)}
      {told && (
        <ol className="steps">
          {told.steps.map((step) => (
            <li key={step.step}>
              <h3>{step.title}</h3>
              <p className="secondary">{step.text}</p>
              <Numbers told={step} without={['step', 'title', 'text']} />
            </li>
          ))}
        </ol>
      )}
    </>
  );
}
