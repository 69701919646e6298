import { useId, type ReactNode } from 'react';

interface FieldProps {
  label: string;
  note?: string | undefined; // a unit, or "required"
  help?: string | undefined;
  error?: string | undefined;
  // What is given goes to the input, so that help and error are read out with it.
  children: (given: { id: string; 'aria-invalid': boolean; 'aria-describedby': string | undefined }) => ReactNode;
}

export function Field({ label, note, help, error, children }: FieldProps) {
  const id = useId();
  const described = [error && `${id}-error`, help && `${id}-help`].filter(Boolean).join(' ') || undefined;
  return (
    <div className="field">
      <div className="field-head">
        <label htmlFor={id}>{label}</label>
        {note && <span>{note}</span>}
      </div>
      {children({ id, 'aria-invalid': Boolean(error), 'aria-describedby': described })}
      {error && <div className="field-error" id={`${id}-error`}>{error}</div>}
      {help && <div className="field-help" id={`${id}-help`}>{help}</div>}
    </div>
  );
}
