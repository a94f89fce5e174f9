"""The measures of bias (Bommasani & Liang 2022), and prior measures: records in, records out."""
