"""What made the product and what measures it: training, test collections, generators, benchmarks, experiments."""
