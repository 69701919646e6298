import { memo, useEffect, useMemo, useState } from 'react';
import { configOf, setSetting, typeOf, type Value } from '../core/document';
import { formOf, textOf, valueAt, valueOf, type FormField } from '../core/form';
import { text } from '../text';
import { Field } from '../ui/Field';
import { edit, useCanvas } from './canvas_store';
import { problemsOf } from './card_face';

const shown = 6; // settings that are seen at once, beside those that are set or wrong

interface SettingProps {
  card: string;
  field: FormField;
  value: Value | undefined;
  error: string | undefined;
}

const Setting = memo(function Setting({ card, field, value, error }: SettingProps) {
  // What is being typed, as it is typed: "0." is on its way to 0.5.
  const [typed, setTyped] = useState(textOf(value));
  useEffect(() => {
    setTyped((before) => (textOf(valueOf(field, before)) === textOf(value) ? before : textOf(value)));
  }, [value, field]);
  const set = (next: string) => {
    setTyped(next);
    edit((now) => setSetting(now, card, field.path, valueOf(field, next)), `${card}.${field.path.join('.')}`);
  };
  const note = field.isRequired ? text.inspector.required : field.range;
  const usual = field.usual ? text.inspector.usual(field.usual) : text.inspector.noDefault;
  return (
    <Field label={field.label} note={note} help={field.help} error={error}>
      {(given) => {
        if (field.kind === 'choice' || field.kind === 'switch') {
          const choices = field.kind === 'choice' ? field.choices : ['true', 'false'];
          const words = (choice: string) => (field.kind === 'switch' ? (choice === 'true' ? text.inspector.onWord : text.inspector.offWord) : choice);
          return (
            <select {...given} className="input" value={typed} onChange={(event) => set(event.target.value)}>
              <option value="">{field.usual ? words(field.usual) : text.inspector.noDefault}</option>
              {choices.filter((choice) => choice !== field.usual || typed === choice).map((choice) => <option key={choice} value={choice}>{words(choice)}</option>)}
              {typed !== '' && !choices.includes(typed) && <option value={typed}>{typed}</option>}
            </select>
          );
        }
        if (field.kind === 'map') return <textarea {...given} className="input num" rows={2} placeholder={usual} value={typed} onChange={(event) => set(event.target.value)} />;
        return <input {...given} className="input num" inputMode={field.kind === 'number' || field.kind === 'integer' ? 'decimal' : 'text'} placeholder={usual} value={typed} spellCheck={false} autoComplete="off" onChange={(event) => set(event.target.value)} />;
      }}
    </Field>
  );
});

export function SettingsForm({ card }: { card: string }) {
  const type = useCanvas((state) => state.types.get(typeOf(state.history.now, card)));
  const config = useCanvas((state) => configOf(state.history.now, card));
  const problems = useCanvas((state) => state.problems);
  const [showsAll, setShowsAll] = useState(false);
  useEffect(() => setShowsAll(false), [card]);
  const groups = useMemo(() => (type ? formOf(type, config) : []), [type, config]);
  const own = problemsOf(problems, card);
  const errorOf = (field: FormField) => own.find((each) => each.path === `cards.${card}.config.${field.path.join('.')}` || each.path.startsWith(`cards.${card}.config.${field.path.join('.')}.`))?.message;
  const fields = groups.flatMap((group) => group.fields);
  const stray = own.filter((each) => !each.path.startsWith(`cards.${card}.inputs`) && !fields.some((field) => errorOf(field) === each.message));
  // A setting that was shown stays, whatever becomes of it.
  const isShown = (field: FormField, place: number) => showsAll || place < shown || field.isRequired || valueAt(config, field.path) !== undefined || errorOf(field) !== undefined;
  const hidden = groups.reduce((sum, group) => sum + group.fields.filter((field, place) => !isShown(field, place)).length, 0);
  return (
    <div data-part="settings">
      {stray.map((each) => <p key={each.path + each.message} className="field-error">{each.path.split('.').slice(3).join('.')} {each.message}</p>)}
      {groups.map((group) => (
        <section key={group.title}>
          {group.title && <h2 className="form-title">{group.title}</h2>}
          {group.fields.filter(isShown).map((field) => (
            <Setting key={`${card}.${field.path.join('.')}`} card={card} field={field} value={valueAt(config, field.path)} error={errorOf(field)} />
          ))}
        </section>
      ))}
      {hidden > 0 && <button type="button" className="button quiet more" onClick={() => setShowsAll(true)}>{text.inspector.more(hidden)}</button>}
    </div>
  );
}
