export const runs = {
  resultOf: (card: string) => `Metrics · ${card}`,
  onRows: (rows: string) => `on ${rows} rows`,
  higher: 'higher is better',
  lower: 'lower is better',
};
