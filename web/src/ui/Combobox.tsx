import { useEffect, useId, useRef, useState, type KeyboardEvent } from 'react';
import { offersFor, withChoice, type Offer } from '../core/offers';

interface ComboboxProps {
  given: { id: string; 'aria-invalid': boolean; 'aria-describedby': string | undefined };
  label: string; // of the list, for who does not see it
  typed: string;
  kind: 'one' | 'list' | 'condition';
  offers: readonly Offer[];
  placeholder: string;
  onType: (typed: string) => void;
}

const mostShown = 200;

// A field with names to choose from; anything else may be typed all the same.
export function Combobox({ given, label, typed, kind, offers, placeholder, onType }: ComboboxProps) {
  const [isOpen, setOpen] = useState(false);
  const [at, setAt] = useState(-1);
  const list = useId();
  const box = useRef<HTMLUListElement>(null);
  const shown = offersFor(offers, typed, kind !== 'one').slice(0, mostShown);
  const isShown = isOpen && shown.length > 0;
  const active = isShown && at >= 0 ? Math.min(at, shown.length - 1) : -1;
  useEffect(() => {
    box.current?.children[active]?.scrollIntoView({ block: 'nearest' });
  }, [active]);
  // The last lines of a form are too near to its end for a list below them.
  useEffect(() => {
    if (isShown) box.current?.scrollIntoView({ block: 'nearest' });
  }, [isShown]);
  const type = (next: string) => {
    setAt(-1);
    setOpen(true);
    onType(next);
  };
  const choose = (offer: Offer) => {
    onType(withChoice(typed, offer.value, kind));
    setAt(-1);
    setOpen(kind === 'list');
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0 && shown.length > 0) {
      setAt(isShown ? (active + step + (active < 0 && step < 0 ? 1 : 0) + shown.length) % shown.length : step > 0 ? 0 : shown.length - 1);
      setOpen(true);
    } else if (event.key === 'Enter' && active >= 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey) choose(shown[active]!);
    else if (event.key === 'Escape' && isShown) setOpen(false);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div className="combobox">
      <input
        {...given} className="input num" role="combobox" aria-expanded={isShown} aria-controls={list} aria-autocomplete="list"
        aria-activedescendant={active >= 0 ? `${list}-${active}` : undefined} placeholder={placeholder} value={typed} spellCheck={false} autoComplete="off"
        onChange={(event) => type(event.target.value)} onClick={() => setOpen(true)} onKeyDown={onKeyDown} onBlur={() => setOpen(false)}
      />
      <ul ref={box} id={list} role="listbox" aria-label={label} hidden={!isShown} className="combobox-list">
        {isShown && shown.map((offer, place) => (
          // A press of the mouse must not take the focus from the field before it has chosen.
          <li key={offer.value} id={`${list}-${place}`} role="option" aria-selected={place === active} className={place === active ? 'on' : ''} onMouseDown={(event) => event.preventDefault()} onClick={() => choose(offer)}>
            <span>{offer.value}</span> <span className="secondary">{offer.note}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
