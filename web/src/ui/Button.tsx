import type { ButtonHTMLAttributes, ReactNode } from 'react';

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  kind?: 'plain' | 'go' | 'quiet' | 'danger'; // go: the one action that matters on a page
  children: ReactNode;
}

export function Button({ kind = 'plain', className = '', children, ...rest }: ButtonProps) {
  return (
    <button type="button" className={`button ${kind === 'plain' ? '' : kind} ${className}`} {...rest}>
      {children}
    </button>
  );
}
