"""The waist: tables, provenance and subjects that everything after reads."""
