import { memo, useEffect, useMemo, useRef, useState } from 'react';
import { configOf, setSetting, typeOf, type Value } from '../core/document';
import { formOf, isOwn, textOf, valueAt, valueOf, type FormField } from '../core/form';
import type { Offer } from '../core/offers';
import { own } from '../core/own';
import { text } from '../text';
import { Combobox } from '../ui/Combobox';
import { Field } from '../ui/Field';
import { edit, useCanvas } from './canvas_store';
import { isEdited, problemsOf } from './face';
import { GraphOf } from './GraphOf';
import { isGraph, shownProblems, shownTree, shownTypes } from './level';
import { useOfferedNames } from './offered_names';
import { useRun } from './run_store';

interface SettingProps {
  card: string;
  field: FormField;
  value: Value | undefined;
  error: string | undefined;
  offers: readonly Offer[];
}

const Setting = memo(function Setting({ card, field, value, error, offers }: SettingProps) {
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
        if (field.names) {
          const kind = field.names === 'condition' ? 'condition' : field.kind === 'list' ? 'list' : 'one';
          return <Combobox given={given} label={text.inspector.offered(field.label)} typed={typed} kind={kind} offers={offers} placeholder={usual} onType={set} />;
        }
        if (field.kind === 'map') return <textarea {...given} className="input num" rows={2} placeholder={usual} value={typed} onChange={(event) => set(event.target.value)} />;
        return <input {...given} className="input num" inputMode={field.kind === 'number' || field.kind === 'integer' ? 'decimal' : 'text'} placeholder={usual} value={typed} spellCheck={false} autoComplete="off" onChange={(event) => set(event.target.value)} />;
      }}
    </Field>
  );
});

// What a run said of a setting of the card, until the card or what it reads is changed.
function useFailedSetting(card: string): { setting: string; message: string } | null {
  const run = useRun((state) => own(state.cards, card));
  const ran = useRun((state) => state.ran);
  const now = useCanvas((state) => state.history.now);
  if (run?.state !== 'failed' || !run.setting || isEdited(now, ran, card)) return null;
  return { setting: run.setting, message: run.message };
}

// Settings of a graph of nodes that are drawn, not typed.
const inGraph = new Set(['nodes', 'connections']);

export function SettingsForm({ card }: { card: string }) {
  const type = useCanvas((state) => shownTypes(state).get(typeOf(shownTree(state), card)));
  const config = useCanvas((state) => configOf(shownTree(state), card));
  const problems = useCanvas(shownProblems);
  const hasGraph = useCanvas((state) => isGraph(state, shownTree(state), card));
  const failedSetting = useFailedSetting(card);
  const [showsAll, setShowsAll] = useState(false);
  const seen = useRef(new Set<string>());
  useEffect(() => {
    setShowsAll(false);
    seen.current = new Set();
  }, [card]);
  const groups = useMemo(() => (type ? formOf(type, config).map((group) => (hasGraph ? { ...group, fields: group.fields.filter((field) => !inGraph.has(field.path[0]!)) } : group)) : []), [type, config, hasGraph]);
  const own = problemsOf(problems, card);
  const errorOf = (field: FormField) => {
    const path = `cards.${card}.config.${field.path.join('.')}`;
    return own.find((each) => each.path === path || each.path.startsWith(`${path}.`))?.message ?? (failedSetting?.setting === field.path.join('.') ? failedSetting.message : undefined);
  };
  const fields = groups.flatMap((group) => group.fields);
  const offersOf = useOfferedNames(card, fields.map((field) => field.names));
  const stray = own.filter((each) => !each.path.startsWith(`cards.${card}.inputs`) && !fields.some((field) => errorOf(field) === each.message));
  // A setting that was shown stays, whatever becomes of it.
  const isShown = (field: FormField) => {
    const name = field.path.join('.');
    const isAsked = (field.isFirst && !field.isIdle) || isOwn(field, valueAt(config, field.path)) || errorOf(field) !== undefined;
    if (isAsked && !field.isIdle) seen.current.add(name);
    return showsAll || isAsked || (seen.current.has(name) && !field.isIdle);
  };
  const hidden = fields.filter((field) => !isShown(field)).length;
  return (
    <div data-part="settings">
      {stray.map((each) => <p key={each.path + each.message} className="field-error">{each.path.split('.').slice(3).join('.')} {each.message}</p>)}
      {hasGraph && <GraphOf card={card} />}
      {groups.map((group) => (
        <section key={group.title}>
          {group.title && <h2 className="form-title">{group.title}</h2>}
          {group.fields.filter(isShown).map((field) => (
            <Setting key={`${card}.${field.path.join('.')}`} card={card} field={field} value={valueAt(config, field.path)} error={errorOf(field)} offers={offersOf(field.names)} />
          ))}
        </section>
      ))}
      {hidden > 0 && <button type="button" className="button quiet more" onClick={() => setShowsAll(true)}>{text.inspector.more(hidden)}</button>}
    </div>
  );
}
