import { create } from 'zustand';

// The runs that are ticked to be compared: they stay so while one looks at the comparison and comes back.
export const useChosenRuns = create<{ chosen: readonly string[] }>(() => ({ chosen: [] }));

export const choose = (chosen: readonly string[]) => useChosenRuns.setState({ chosen });
