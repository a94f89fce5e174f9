"""The eight criteria of Bommasani & Liang 2022 and two more, for measures, datasets and scores."""
