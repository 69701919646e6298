import { useId, type KeyboardEvent, type ReactNode } from 'react';

interface TabsProps<Name extends string> {
  label: string;
  tabs: readonly { name: Name; title: string }[];
  selected: Name;
  onSelect: (name: Name) => void;
  children: ReactNode; // of the tab that is selected
}

export function Tabs<Name extends string>({ label, tabs, selected, onSelect, children }: TabsProps<Name>) {
  const id = useId();
  const step = (event: KeyboardEvent<HTMLDivElement>) => {
    const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (by === 0) return;
    event.preventDefault();
    const place = (tabs.findIndex((tab) => tab.name === selected) + by + tabs.length) % tabs.length;
    onSelect(tabs[place]!.name);
    (event.currentTarget.children[place] as HTMLElement | undefined)?.focus();
  };
  return (
    <>
      <div className="tab-row" role="tablist" aria-label={label} onKeyDown={step}>
        {tabs.map((tab) => (
          <button
            key={tab.name} type="button" role="tab" id={`${id}-${tab.name}`} aria-controls={`${id}-panel`}
            aria-selected={tab.name === selected} tabIndex={tab.name === selected ? 0 : -1} onClick={() => onSelect(tab.name)}
          >
            {tab.title}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${selected}`} className="tab-panel">{children}</div>
    </>
  );
}
