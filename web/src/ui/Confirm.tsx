import { useState } from 'react';
import { shared } from '../text/shared';
import { Button } from './Button';

interface ConfirmProps {
  title: string; // of the button
  question: string; // what would be lost
  action: string; // of the button that does it
  onConfirm: () => void;
  disabled?: boolean;
}

// An action that cannot be undone asks once more, in place.
export function Confirm({ title, question, action, onConfirm, disabled = false }: ConfirmProps) {
  const [isAsking, setAsking] = useState(false);
  if (!isAsking) return <Button kind="danger" disabled={disabled} onClick={() => setAsking(true)}>{title}</Button>;
  return (
    <div className="confirm" role="group" aria-label={title}>
      <p>{question}</p>
      <div className="row wrap">
        <Button kind="danger" autoFocus onClick={() => { setAsking(false); onConfirm(); }}>{action}</Button>
        <Button onClick={() => setAsking(false)}>{shared.keep}</Button>
      </div>
    </div>
  );
}
