import { useEffect, useMemo, useState } from 'react';
import { get } from '../api/client';
import type { NameKind } from '../api/types';
import { connectionsTo, type Connection } from '../core/document';
import type { Offer } from '../core/offers';
import { outputOf } from '../core/ports';
import { own } from '../core/own';
import { text } from '../text';
import { useCanvas } from './canvas_store';
import { isEdited } from './face';
import { useRun } from './run_store';
import { tableOf } from './tables';

interface DatasetLine {
  id: string;
  source: string;
  rows: number;
}

// Those on record, asked for when a form that takes one is opened.
function useDatasets(isWanted: boolean): Offer[] {
  const [datasets, setDatasets] = useState<Offer[]>([]);
  useEffect(() => {
    if (!isWanted) return undefined;
    const stop = new AbortController();
    get<{ datasets: DatasetLine[] }>('/api/datasets?limit=500', stop.signal).then(
      (told) => setDatasets(told.datasets.map((each) => ({ value: each.id, note: text.inspector.datasetNote(each.source, each.rows) }))),
      () => {}, // nothing is offered; a name may be typed all the same
    );
    return () => stop.abort();
  }, [isWanted]);
  return datasets;
}

const noColumns: Offer[] = [];

// The columns of the table that the card reads: as the run has shown them, else as the service knows them from records.
function useColumns(card: string, isWanted: boolean): Offer[] {
  const document = useCanvas((state) => state.history.now);
  const types = useCanvas((state) => state.types);
  const known = useCanvas((state) => own(state.columns, card));
  const { run, ran, cards } = useRun();
  const [seen, setSeen] = useState<Offer[] | null>(null);
  const source = useMemo((): Connection | undefined => connectionsTo(document, card).find((each) => outputOf(types, document, each.from, each.output)?.type === 'table'), [document, types, card]);
  const state = source && own(cards, source.from)?.state;
  const place = isWanted && source && run && (state === 'done' || state === 'reused') && !isEdited(document, ran, source.from) ? `${source.from}\n${source.output}` : '';
  useEffect(() => {
    setSeen(null);
    if (!place) return undefined;
    let isOver = false;
    const [from, output] = place.split('\n') as [string, string];
    tableOf(run, from, output).then(
      (table) => !isOver && setSeen(table.columns.map((each) => ({ value: each.name, note: each.type }))),
      () => {}, // what is on record is offered
    );
    return () => {
      isOver = true;
    };
  }, [run, place]);
  return useMemo(() => (isWanted ? (seen ?? known?.map((value) => ({ value, note: '' })) ?? noColumns) : noColumns), [isWanted, seen, known]);
}

export function useOfferedNames(card: string, names: readonly (NameKind | null)[]): (kind: NameKind | null) => Offer[] {
  const datasets = useDatasets(names.includes('dataset'));
  const columns = useColumns(card, names.includes('column') || names.includes('condition'));
  return (kind) => (kind === 'dataset' ? datasets : kind === null ? noColumns : columns);
}
